//! Lists of cores as the kernel writes them: `0-3,8,10-11` (`cpuset(7)`, list format).

/// More cores than any machine has; a list that names more is no list.
const MOST: u32 = 1 << 16;

/// The cores of a list, in ascending order. None where it is none.
pub(super) fn cores(text: &str) -> Option<Vec<u32>> {
    let mut cores = Vec::new();
    let ranges = text.trim().split(',').filter(|range| !range.is_empty());
    for range in ranges {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    Some(cores)
}

/// Cores as such a list.
pub(super) fn text(cores: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for core in cores {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *core => *last = *core,
            _ => ranges.push((*core, *core)),
        }
    }
    let range = |(first, last): (u32, u32)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    ranges.into_iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_written() {
        for (list, expected) in [
            ("0-3,8,10-11\n", vec![0, 1, 2, 3, 8, 10, 11]),
            ("\n", vec![]),
            ("5", vec![5]),
        ] {
            assert_eq!(cores(list), Some(expected), "{list}");
            assert_eq!(text(&cores(list).unwrap()), list.trim());
        }
        for bad in ["x", "3-1", "0-4294967295", "1-2-3", "-1", "(null)"] {
            assert_eq!(cores(bad), None, "{bad}");
        }
    }
}
