//! A headless Chromium, driven over a pipe by its DevTools protocol: real pages from disk,
//! real clicks and keys.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

/// What such a program is called.
const NAMES: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];

/// After which an answer is not expected any more; opening takes a tenth of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    input: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// What went wrong in the page: exceptions, refusals of its policy.
    pub(crate) complaints: Vec<String>,
    folder: TempDir,
}

impl Browser {
    /// None, and a printed reason, where there is no Chromium.
    pub(crate) fn start() -> Option<Self> {
        let Some(program) = program() else {
            println!("NOT TESTED: the page in a browser: no Chromium (Debian: chromium)");
            return None;
        };
        let folder = tempfile::tempdir().expect("a folder");
        // The pipes that the protocol wants as 3 and 4 are the child's 0 and 1.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .arg(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--window-size=1280,900",
                "--remote-debugging-pipe",
            ])
            .arg(format!(
                "--user-data-dir={}",
                folder.path().join("user").display()
            ))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh");
        let input = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output
                .read_until(0, &mut message)
                .is_ok_and(|read| read > 0)
            {
                message.pop();
                let value = serde_json::from_slice(&message).expect("JSON");
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            input,
            answers,
            session: None,
            next: 0,
            complaints: Vec::new(),
            folder,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let attached = browser.call(
            "Target.attachToTarget",
            json!({"targetId": target["targetId"], "flatten": true}),
        );
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// A call of the protocol, and its answer.
    #[track_caller]
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let id = self.next;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).expect("the browser listens");
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let answer = self.answers.recv_timeout(left);
            let mut answer = answer.unwrap_or_else(|why| panic!("{method}: {why}"));
            if answer["id"] == id {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
            self.note(&answer);
        }
    }

    fn note(&mut self, event: &Value) {
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.complaints
                    .push(event["params"]["exceptionDetails"].to_string());
            }
            Some("Log.entryAdded") => {
                self.complaints
                    .push(event["params"]["entry"]["text"].to_string());
            }
            _ => {}
        }
    }

    /// Writes a page to disk.
    pub(crate) fn file(&self, html: &str) -> PathBuf {
        let path = self.folder.path().join("report.html");
        std::fs::write(&path, html).expect("written");
        path
    }

    /// Opens a page at a place of it, and waits until it is drawn. Returns the seconds
    /// from asking for it, by the page's own clock.
    pub(crate) fn open(&mut self, path: &Path, hash: &str) -> f64 {
        // Another document, so that the next is opened and not only scrolled.
        self.call("Page.navigate", json!({"url": "about:blank"}));
        let url = format!("file://{}{hash}", path.display());
        self.call("Page.navigate", json!({"url": url}));
        self.until("document.documentElement?.dataset.ready !== undefined");
        let ready = self.evaluate("Number(document.documentElement.dataset.ready)");
        ready.as_f64().expect("a number") / 1e3
    }

    /// The value of an expression in the page; a promise is waited for.
    #[track_caller]
    pub(crate) fn evaluate(&mut self, expression: &str) -> Value {
        let mut answer = self.call(
            "Runtime.evaluate",
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true}),
        );
        let exception = &answer["exceptionDetails"];
        assert!(exception.is_null(), "{expression}: {exception}");
        answer["result"]["value"].take()
    }

    /// The text of an expression.
    #[track_caller]
    pub(crate) fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        let text = value.as_str().map(str::to_owned);
        text.unwrap_or_else(|| panic!("{expression}: {value} is no text"))
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn until(&mut self, expression: &str) {
        let until = Instant::now() + PATIENCE;
        while self.evaluate(expression) != json!(true) {
            assert!(Instant::now() < until, "never true: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Clicks into the middle of the first element of a selector.
    #[track_caller]
    pub(crate) fn click(&mut self, selector: &str) {
        let [x, y] = self.middle(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            self.call(
                "Input.dispatchMouseEvent",
                json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1}),
            );
        }
    }

    /// Turns the wheel over the middle of an element.
    #[track_caller]
    pub(crate) fn wheel(&mut self, selector: &str, by: f64) {
        let [x, y] = self.middle(selector);
        self.call(
            "Input.dispatchMouseEvent",
            json!({"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": by}),
        );
    }

    #[track_caller]
    fn middle(&mut self, selector: &str) -> [f64; 2] {
        let place = self.evaluate(&format!(
            "(() => {{ const node = document.querySelector({selector:?});
               node.scrollIntoView({{block: 'center', behavior: 'instant'}});
               const box = node.getBoundingClientRect();
               return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        [0, 1].map(|index| place[index].as_f64().expect("a number"))
    }

    /// Presses a key, by its name: `Enter`, `ArrowLeft`, `a`.
    pub(crate) fn press(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            key if key.chars().count() == 1 => key,
            _ => "",
        };
        let down = if text.is_empty() {
            "rawKeyDown"
        } else {
            "keyDown"
        };
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            _ => 0,
        };
        for kind in [down, "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            self.call(
                "Input.dispatchKeyEvent",
                json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code}),
            );
        }
    }

    /// Types a text, key by key.
    pub(crate) fn write(&mut self, text: &str) {
        for key in text.chars() {
            self.press(&key.to_string());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let all = NAMES
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    all.into_iter().find(|program| program.is_file())
}
