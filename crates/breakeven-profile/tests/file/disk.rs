//! Writing to disk: in one step, with permissions, through links, to devices.

use std::fs;
use std::path::Path;

use breakeven_profile::file::{self, FileErrorKind, check_writable, read, write};
use breakeven_profile::profile::{Operation, Profile};

fn profile(name: &str) -> Profile {
    Profile {
        operations: vec![Operation::new(name, "cpu")],
        ..Profile::default()
    }
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_file_is_written_and_replaced_and_nothing_is_left_beside_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.json");
    for name in ["first", "second"] {
        check_writable(&path).unwrap();
        write(&profile(name), &path).unwrap();
        assert_eq!(read(&path).unwrap(), profile(name));
    }
    assert_eq!(names(directory.path()), ["p.json"]);
}

#[test]
fn a_refused_profile_leaves_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.json");
    write(&profile("old"), &path).unwrap();
    let error = write(&profile(""), &path).unwrap_err();
    assert_eq!(error.path(), Some(&*path));
    assert_eq!(read(&path).unwrap(), profile("old"));
    assert_eq!(names(directory.path()), ["p.json"]);
}

#[test]
fn a_failure_half_way_leaves_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.svg");
    fs::write(&path, "old").unwrap();
    let failed = file::replace(&path, |file| -> Result<(), Box<dyn std::error::Error>> {
        file.write_all(&[b'x'; 100_000])?;
        Err("no more".into())
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    let filled = file::replace(&path, |file| {
        file.write_all(b"new")?;
        Ok::<(), Box<dyn std::error::Error>>(())
    });
    filled.unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    assert_eq!(names(directory.path()), ["p.svg"]);
}

#[test]
fn checking_leaves_nothing_behind_and_nothing_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("p.json");
    check_writable(&path).unwrap();
    assert!(names(directory.path()).is_empty());
    fs::write(&path, "something else").unwrap();
    check_writable(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "something else");
}

#[test]
fn a_missing_directory_or_file_is_reported_with_the_reason() {
    let directory = tempfile::tempdir().unwrap();
    let shown = |error: breakeven_profile::file::FileError| {
        assert_eq!(error.kind(), FileErrorKind::Io);
        error
            .to_string()
            .replace(directory.path().to_str().unwrap(), "DIR")
    };
    let absent = directory.path().join("absent/p.json");
    insta::assert_snapshot!(shown(check_writable(&absent).unwrap_err()), @"DIR/absent/p.json: the directory DIR/absent cannot be used: No such file or directory (os error 2)");
    insta::assert_snapshot!(shown(write(&profile("a"), &absent).unwrap_err()), @"DIR/absent/p.json: the directory DIR/absent cannot be used: No such file or directory (os error 2)");
    insta::assert_snapshot!(shown(check_writable(directory.path()).unwrap_err()), @"DIR: is a directory; name a file in it");
    insta::assert_snapshot!(shown(read(&absent).unwrap_err()), @"DIR/absent/p.json: cannot be opened: No such file or directory (os error 2)");
    insta::assert_snapshot!(shown(read(directory.path()).unwrap_err()), @"DIR: cannot be read: Is a directory (os error 21)");
    insta::assert_snapshot!(shown(check_writable(Path::new("")).unwrap_err()), @"the path does not name a file");
}

#[cfg(unix)]
mod unix {
    use std::fs::{File, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::process::Command;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_file_has_the_permissions_of_any_new_file() {
        let directory = tempfile::tempdir().unwrap();
        let (ours, plain) = (
            directory.path().join("p.json"),
            directory.path().join("plain"),
        );
        File::create(&plain).unwrap();
        write(&profile("a"), &ours).unwrap();
        assert_eq!(mode(&ours), mode(&plain));
    }

    #[test]
    fn a_replaced_file_keeps_its_permissions() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("p.json");
        for bits in [0o600, 0o640, 0o666] {
            fs::write(&path, "").unwrap();
            fs::set_permissions(&path, Permissions::from_mode(bits)).unwrap();
            write(&profile("a"), &path).unwrap();
            assert_eq!(mode(&path), bits);
        }
    }

    #[test]
    fn links_stay_links() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("kept")).unwrap();
        symlink("kept/p.json", at("one")).unwrap();
        symlink("one", at("two")).unwrap();
        // The first write makes the file that the links lead to, the second replaces it.
        for name in ["first", "second"] {
            check_writable(&at("two")).unwrap();
            write(&profile(name), &at("two")).unwrap();
            assert_eq!(read(&at("kept/p.json")).unwrap(), profile(name));
        }
        assert!(fs::symlink_metadata(at("one")).unwrap().is_symlink());
        assert!(fs::symlink_metadata(at("two")).unwrap().is_symlink());
        assert_eq!(names(directory.path()), ["kept", "one", "two"]);
        assert_eq!(names(&at("kept")), ["p.json"]);
    }

    #[test]
    fn a_link_to_itself_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("loop");
        symlink("loop", &path).unwrap();
        assert_eq!(check_writable(&path).unwrap_err().kind(), FileErrorKind::Io);
        assert_eq!(
            write(&profile("a"), &path).unwrap_err().kind(),
            FileErrorKind::Io
        );
        assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn devices_are_written_directly() {
        let null = Path::new("/dev/null");
        check_writable(null).unwrap();
        write(&profile("a"), null).unwrap();
        assert!(!fs::metadata(null).unwrap().is_file());
        let full = Path::new("/dev/full");
        if full.exists() {
            assert_eq!(
                write(&profile("a"), full).unwrap_err().kind(),
                FileErrorKind::Full
            );
        }
    }

    #[test]
    fn a_pipe_is_written_directly_and_checked_without_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        check_writable(&path).unwrap();
        std::thread::scope(|threads| {
            let reading = threads.spawn(|| read(&path).unwrap());
            write(&profile("a"), &path).unwrap();
            assert_eq!(reading.join().unwrap(), profile("a"));
        });
        assert_eq!(names(directory.path()), ["pipe"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_open_descriptor_is_written_directly() {
        use std::os::fd::AsRawFd;
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("redirected");
        let open = File::create(&path).unwrap();
        let descriptor = format!("/dev/fd/{}", open.as_raw_fd());
        check_writable(Path::new(&descriptor)).unwrap();
        write(&profile("a"), Path::new(&descriptor)).unwrap();
        assert_eq!(read(&path).unwrap(), profile("a"));
        assert_eq!(
            fs::metadata(&path).unwrap().ino(),
            open.metadata().unwrap().ino()
        );
    }

    #[test]
    fn no_permission_is_found_before_measuring() {
        let directory = tempfile::tempdir().unwrap();
        let closed = directory.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, Permissions::from_mode(0o555)).unwrap();
        let kept = directory.path().join("kept.json");
        fs::write(&kept, "").unwrap();
        fs::set_permissions(&kept, Permissions::from_mode(0o444)).unwrap();
        if File::options().write(true).open(&kept).is_ok() {
            return; // Root may do everything.
        }
        for path in [closed.join("p.json"), kept] {
            assert_eq!(check_writable(&path).unwrap_err().kind(), FileErrorKind::Io);
            assert_eq!(
                write(&profile("a"), &path).unwrap_err().kind(),
                FileErrorKind::Io
            );
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_takes_no_files_is_found_before_measuring() {
        let error = check_writable(Path::new("/sys/p.json")).unwrap_err();
        assert_eq!(error.kind(), FileErrorKind::Io);
        let said = error.to_string();
        assert!(
            said.starts_with("/sys/p.json: cannot create a file in /sys: "),
            "{said}"
        );
    }
}
