//! A driver that may hang, asked on a thread of its own.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// What a function returned last, and whether it still answers.
pub(super) struct Watched<T> {
    questions: SyncSender<()>,
    answers: Receiver<T>,
    last: T,
    /// When the question was asked that is not answered.
    asked: Option<Instant>,
}

impl<T: Send + Clone + Default + 'static> Watched<T> {
    /// Starts a thread that calls `ask` when it is asked to. A panic of `ask` is silence.
    pub(super) fn start(name: &str, mut ask: impl FnMut() -> T + Send + 'static) -> Option<Self> {
        let (questions, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let serve = move || {
            while asked.recv().is_ok() {
                let Ok(told) = catch_unwind(AssertUnwindSafe(&mut ask)) else {
                    return;
                };
                if answer.send(told).is_err() {
                    return;
                }
            }
        };
        let started = thread::Builder::new().name(name.to_owned()).spawn(serve);
        started.is_ok().then(|| Self {
            questions,
            answers,
            last: T::default(),
            asked: None,
        })
    }

    /// The answer, or the last one and since when no other came.
    pub(super) fn ask(&mut self, patience: Duration) -> (T, Option<Instant>) {
        // What came too late is of then; a thread that hangs is not waited for again.
        let late = self.asked.is_some();
        match self.answers.try_recv() {
            Ok(_) => self.asked = None,
            Err(TryRecvError::Empty) if late => return (self.last.clone(), self.asked),
            Err(_) => {}
        }
        let asked = *self.asked.get_or_insert_with(Instant::now);
        let sent = self.questions.try_send(());
        match sent
            .ok()
            .and_then(|()| self.answers.recv_timeout(patience).ok())
        {
            Some(told) => {
                self.last = told;
                self.asked = None;
                (self.last.clone(), None)
            }
            None => (self.last.clone(), Some(asked)),
        }
    }
}

impl<T> fmt::Debug for Watched<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched").finish_non_exhaustive()
    }
}
