//! What becomes of a command whose output is not taken: a full disk, a reader that is slow.

use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::command::{directory, line};

/// A profile whose tables are larger than any pipe.
fn large(directory: &tempfile::TempDir) -> PathBuf {
    let operation = |i: u32| format!("{{\"name\": \"f{i}\", \"samples_ns\": [{i}, 20, 30]}}");
    let operations: Vec<_> = (1..4000).map(operation).collect();
    let text = format!(
        "{{\"format\": \"breakeven-profile\", \"version\": 1, \"operations\": [{}]}}",
        operations.join(",\n")
    );
    let file = directory.path().join("large.json");
    fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_full_disk_is_a_failure_and_no_wrong_use() {
    let directory = directory();
    let file = large(&directory);
    let file = file.display();
    for command in [
        format!("show {file}"),
        format!("show --format json {file}"),
        format!("compare --gate --baseline {file} --current {file}.2"),
        format!("compare --format junit --baseline {file} --current {file}.2"),
        format!("advise {file}"),
        "completions bash".to_owned(),
        "--help".to_owned(),
    ] {
        fs::copy(file.to_string(), format!("{file}.2")).unwrap();
        let mut command = line(&command);
        let full = File::options().write(true).open("/dev/full").unwrap();
        command.command.stdout(full);
        let ended = command.run();
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(
            ended.stderr.contains("standard output: No space left"),
            "{ended:#?}"
        );
    }
}

#[test]
fn nothing_is_lost_in_a_pipe_that_does_not_wait() {
    let directory = directory();
    let file = large(&directory);
    let expected = line("show --format json").arg(&file).run().quietly(0);
    for is_stderr_too in [false, true] {
        let (mut ours, its) = UnixStream::pair().unwrap();
        its.set_nonblocking(true).unwrap();
        let its = OwnedFd::from(its);
        let mut command = line("show --format json").arg(&file);
        if is_stderr_too {
            command.command.stderr(its.try_clone().unwrap());
        }
        command.command.stdout(its);
        let mut child = command.command.spawn().unwrap();
        drop(command);
        std::thread::sleep(Duration::from_millis(500));
        let mut read = String::new();
        ours.read_to_string(&mut read).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(read, expected.stdout);
    }
}
