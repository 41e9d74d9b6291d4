//! Queries to the system: processor time, and the processor's name.

/// Seconds of processor time of the calling thread; wall-clock seconds if the system does not
/// report it.
#[must_use]
pub fn thread_seconds() -> f64 {
    #[cfg(unix)]
    return seconds(rustix::time::ClockId::ThreadCPUTime);
    #[cfg(not(unix))]
    passed()
}

/// Seconds of processor time that all threads of the process have used.
#[must_use]
pub fn process_seconds() -> f64 {
    #[cfg(unix)]
    return seconds(rustix::time::ClockId::ProcessCPUTime);
    #[cfg(not(unix))]
    passed()
}

#[cfg(unix)]
fn seconds(clock: rustix::time::ClockId) -> f64 {
    let now = rustix::time::clock_gettime(clock);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(not(unix))]
fn passed() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// The processor's name, family and model; `unknown` if the system does not report them.
#[must_use]
pub fn processor() -> String {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line = info.lines().find(|line| line.split(':').next().map(str::trim) == Some(name));
        line.and_then(|line| line.split(':').nth(1)).map(str::trim)
    };
    let mut processor = field("model name").unwrap_or("unknown").to_owned();
    if let Some((family, model)) = field("cpu family").zip(field("model")) {
        processor += &format!(" (family {family} model {model})");
    }
    processor
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn processor_time_passes_with_work() {
        let (process, thread) = (process_seconds(), thread_seconds());
        let mut memory = vec![1_u8; 1 << 20];
        while thread_seconds() < thread + 0.05 {
            memory.iter_mut().for_each(|byte| *byte = byte.wrapping_mul(3));
        }
        assert!(process_seconds() >= process + 0.05);
        std::hint::black_box(memory);
    }
}
