//! A thread for what takes long and cannot be asked whether it is ready, so that nothing else waits
//! for it.

use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// The thread; what it is asked is done one after the other.
pub(crate) struct Aside(Sender<Box<dyn FnOnce() + Send>>);

impl Aside {
    pub(crate) fn new(name: &str) -> io::Result<Aside> {
        let (sender, receiver) = channel::<Box<dyn FnOnce() + Send>>();
        let work = move || receiver.into_iter().for_each(|task| task());
        thread::Builder::new().name(name.to_owned()).spawn(work)?;
        Ok(Aside(sender))
    }

    /// Have a question answered. A channel that closes without an answer is a thread that failed.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce() -> T + Send + 'static,
    ) -> Receiver<T> {
        let (sender, receiver) = channel();
        // Whoever gave up waiting does not listen.
        let task = move || _ = sender.send(question());
        let _ = self.0.send(Box::new(task));
        receiver
    }
}
