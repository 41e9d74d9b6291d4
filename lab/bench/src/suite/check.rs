//! Same work, same hashes: every engine is compared with the others before it is measured.

use anyhow::{Context, ensure};

use super::Bench;
use crate::engine::{Setup, Task, rom::RomMemory};
use crate::work::Work;
use std::sync::Arc;

/// How many hashes of a batch are compared.
const COMPARED: usize = 16;

/// Hashes that are known to be right, by the work's name.
#[derive(Default)]
pub(super) struct Checked(Vec<Known>);

struct Known {
    slug: String,
    hashes: Vec<Vec<u8>>,
    /// Who computed them.
    engines: Vec<String>,
}

impl Bench<'_> {
    /// Compares what an engine computes with what is known; if nobody independent has computed it
    /// yet, with the reference.
    ///
    /// # Errors
    /// A difference.
    pub(super) fn check(
        &mut self,
        name: &str,
        task: &mut dyn Task,
        work: &Work,
        rom: Option<&Arc<RomMemory>>,
    ) -> anyhow::Result<()> {
        let slug = slug(work);
        let count = task.together().clamp(1, COMPARED);
        let hashes = task.answers(count)?;
        ensure!(hashes.len() == count, "{name} computes {} hashes, not {count}", hashes.len());
        if !self.checked.0.iter().any(|known| known.slug == slug && known.hashes.len() >= count) {
            self.ask_reference(&slug, work, rom, count)?;
        }
        match self.checked.0.iter_mut().find(|known| known.slug == slug) {
            Some(known) => known.compare(name, &hashes),
            None => {
                let engines = vec![name.to_owned()];
                self.checked.0.push(Known { slug, hashes, engines });
                Ok(())
            }
        }
    }

    /// Lets the reference compute some work, if it can.
    fn ask_reference(
        &mut self,
        slug: &str,
        work: &Work,
        rom: Option<&Arc<RomMemory>>,
        count: usize,
    ) -> anyhow::Result<()> {
        let Some(reference) = self.engine("reference")?.filter(|slow| slow.computes(work)) else {
            return Ok(());
        };
        let setup = Setup { rom: rom.cloned(), ..Setup::default() };
        let hashes = reference.task(work, &setup)?.answers(count)?;
        let name = reference.name();
        match self.checked.0.iter_mut().find(|known| known.slug == slug) {
            Some(known) => {
                known.compare(&name, &hashes)?;
                known.hashes = hashes;
            }
            None => {
                self.checked.0.push(Known { slug: slug.to_owned(), hashes, engines: vec![name] })
            }
        }
        Ok(())
    }

    /// Who else has computed the same hashes.
    pub(super) fn agreeing(&self, name: &str, work: &Work) -> Vec<String> {
        let slug = slug(work);
        let known = self.checked.0.iter().find(|known| known.slug == slug);
        let engines = known.map(|known| known.engines.as_slice()).unwrap_or_default();
        engines.iter().filter(|other| *other != name).cloned().collect()
    }
}

/// The work's name without the place of its ROM, which does not change a hash.
fn slug(work: &Work) -> String {
    let mut record = work.record();
    record.rom_medium = None;
    let Work::Message(message) = work else { return record.slug() };
    // Programs print hexadecimal digits.
    if message.file { record.slug() + "-file" } else { record.slug() }
}

impl Known {
    fn compare(&mut self, name: &str, hashes: &[Vec<u8>]) -> anyhow::Result<()> {
        let pairs = self.hashes.iter().zip(hashes);
        for (number, (known, found)) in pairs.enumerate() {
            ensure!(
                known == found,
                "{name} computes another hash than {} for input {number} of {}",
                self.engines.join(", "),
                self.slug
            );
        }
        if !self.engines.iter().any(|known| known == name) {
            self.engines.push(name.to_owned());
        }
        Ok(())
    }
}

impl Bench<'_> {
    /// An engine's tasks for so many threads, checked; none if this system does not have the
    /// engine.
    pub(super) fn tasks(
        &mut self,
        side: &crate::case::Side,
        threads: usize,
    ) -> anyhow::Result<Option<Vec<Box<dyn Task>>>> {
        let Some(engine) = self.engine(&side.engine)? else { return Ok(None) };
        let rom = self.roms.of(&side.work)?;
        let setup = Setup { together: side.together, pages: side.pages, rom };
        let refused = || format!("{} on {}", side.engine, side.work.record().words());
        let mut tasks = Vec::new();
        for _ in 0..threads {
            tasks.push(engine.task(&side.work, &setup).with_context(refused)?);
        }
        self.check(&engine.name(), &mut *tasks[0], &side.work, setup.rom.as_ref())?;
        Ok(Some(tasks))
    }
}
