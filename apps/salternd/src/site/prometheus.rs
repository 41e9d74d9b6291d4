//! The metrics as text for Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::UNIX_EPOCH;

use saltern::policy::Scheme;

use super::metrics::{BUCKETS, ENDED, Metrics, OUTCOMES};
use super::state::{Current, Phase, State};
use crate::api::{ROUTES, Reason};

/// The text for Prometheus.
pub(crate) fn text(state: &State) -> String {
    let mut page = Page(String::with_capacity(16 << 10));
    let metrics = &state.metrics;
    page.outcomes("saltern_requests_total", "Requests", &metrics.requests);
    page.outcomes("saltern_lines_total", "Lines of batches", &metrics.lines);
    page.times(metrics);
    page.head("saltern_refused_total", "counter", "Problems by reason");
    for (reason, count) in Reason::ALL.iter().zip(&metrics.reasons) {
        page.value(
            "saltern_refused_total",
            &[("reason", reason.word())],
            count.load(Relaxed) as f64,
        );
    }
    page.strings(metrics);
    let counter = |count: &AtomicU64| count.load(Relaxed) as f64;
    page.one(
        "saltern_updates_total",
        "counter",
        "Updates returned to clients",
        counter(&metrics.updates),
    );
    let remembered = counter(&metrics.remembered);
    let about = "Matches remembered from earlier logins";
    page.one("saltern_remembered_total", "counter", about, remembered);
    let connections = counter(&metrics.connections);
    page.one("saltern_connections_total", "counter", "Connections", connections);
    page.one("saltern_connections_open", "gauge", "Open connections", counter(&metrics.open));
    let name = "saltern_connections_ended_total";
    page.head(name, "counter", "Connections that the service has ended, by reason");
    for (reason, count) in ENDED.iter().zip(&metrics.ended) {
        page.value(name, &[("reason", reason)], counter(count));
    }
    page.one("saltern_reloads_total", "counter", "Reloads", counter(&metrics.reloads));
    let failed = counter(&metrics.failed_reloads);
    page.one("saltern_reloads_failed_total", "counter", "Reloads that changed nothing", failed);
    let about = "Whether the file has changed settings that need a restart";
    page.one("saltern_restart_needed", "gauge", about, counter(&metrics.restart));
    if let ends @ 1.. = metrics.certificate_ends.load(Relaxed) {
        let about = "When the first certificate of a listener ends, in seconds since 1970";
        page.one("saltern_certificate_ends_seconds", "gauge", about, ends as f64);
    }
    page.process(state);
    let about = "ROMs in memory whose files a next start could not use, at the last reload";
    let missing = counter(&metrics.roms_without_files);
    page.one("saltern_rom_without_file", "gauge", about, missing);
    page.head("saltern_build_info", "gauge", "The version of the service");
    page.value("saltern_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    let lost = state.log.lost() as f64;
    page.one("saltern_log_lost_total", "counter", "Events left out of the log", lost);
    let ready = f64::from(state.phase() == Phase::Running);
    page.one("saltern_ready", "gauge", "Whether requests can be done", ready);
    if let Some(current) = state.current() {
        page.pool(&current);
        page.site(&current);
    }
    page.0
}

struct Page(String);

impl Page {
    fn head(&mut self, name: &str, kind: &str, about: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {about}.\n# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{}{label}=\"{text}\"", if at == 0 { '{' } else { ',' });
        }
        let end = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.0, "{end} {value}");
    }

    fn one(&mut self, name: &str, kind: &str, about: &str, value: f64) {
        self.head(name, kind, about);
        self.value(name, &[], value);
    }

    fn outcomes(&mut self, name: &str, of: &str, counts: &[[AtomicU64; OUTCOMES.len()]]) {
        self.head(name, "counter", &format!("{of} by operation and outcome"));
        for (route, counts) in ROUTES.iter().zip(counts) {
            for (outcome, count) in OUTCOMES.iter().zip(counts) {
                let count = count.load(Relaxed);
                if count > 0 {
                    self.value(name, &[("op", route.name), ("outcome", outcome)], count as f64);
                }
            }
        }
    }

    /// The label is the least memory of a class, a power of two; only the first class has less.
    fn strings(&mut self, metrics: &Metrics) {
        let name = "saltern_strings_total";
        self.head(name, "counter", "Stored strings that were verified, by scheme and memory");
        for (scheme, counts) in Scheme::ALL.iter().zip(&metrics.strings) {
            for (class, count) in counts.iter().enumerate() {
                let (count, least) = (count.load(Relaxed), (1_u64 << class).to_string());
                if count > 0 {
                    let labels = [("scheme", &*scheme.to_string()), ("mib", &least)];
                    self.value(name, &labels, count as f64);
                }
            }
        }
    }

    fn times(&mut self, metrics: &Metrics) {
        let name = "saltern_request_seconds";
        self.head(
            name,
            "histogram",
            "Time from the arrival of a request to its answer, without those that failed",
        );
        for (route, times) in ROUTES.iter().zip(&metrics.times) {
            let count = times.count.load(Relaxed);
            if count == 0 {
                continue;
            }
            let mut sum = 0;
            for (end, bucket) in BUCKETS.iter().zip(&times.buckets) {
                sum += bucket.load(Relaxed);
                let labels = [("op", route.name), ("le", &*end.to_string())];
                self.value("saltern_request_seconds_bucket", &labels, sum as f64);
            }
            let labels = [("op", route.name), ("le", "+Inf")];
            self.value("saltern_request_seconds_bucket", &labels, count.max(sum) as f64);
            let seconds = times.sum.load(Relaxed) as f64 / 1e6;
            self.value("saltern_request_seconds_sum", &labels[..1], seconds);
            self.value("saltern_request_seconds_count", &labels[..1], count.max(sum) as f64);
        }
    }

    /// What every process has, under the names that are usual.
    fn process(&mut self, state: &State) {
        let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let spent = spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9;
        self.one("process_cpu_seconds_total", "counter", "Processor time", spent);
        let started = state.started.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let about = "When the process was started, in seconds since 1970";
        self.one("process_start_time_seconds", "gauge", about, started);
        let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        if let Some(pages) = pages.split(' ').nth(1).and_then(|text| text.parse::<u64>().ok()) {
            let bytes = pages * rustix::param::page_size() as u64;
            self.one("process_resident_memory_bytes", "gauge", "Memory in use", bytes as f64);
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            // One of them is that of the folder.
            let open = open.count().saturating_sub(1) as f64;
            self.one("process_open_fds", "gauge", "Open descriptors", open);
        }
    }

    fn pool(&mut self, current: &Current) {
        let stats = current.passwords.pool().stats();
        if let Some(rate) = stats.rate {
            let hash = current.passwords.table().policy().params.work() as f64;
            let about = "Logins a second that the threads can do, of the cost of new hashes";
            self.one("saltern_pool_logins_per_second", "gauge", about, rate / hash);
        }
        let gauges = [
            ("threads", "Threads that hash", stats.threads as f64),
            ("idle", "Threads with nothing to do", stats.idle as f64),
            ("waiting", "Hashes that wait", stats.waiting as f64),
            ("running", "Hashes that are being computed", stats.running as f64),
            ("memory_bytes", "Memory that hashes hold", stats.reserved as f64),
            ("memory_peak_bytes", "Peak of memory that hashes held", stats.peak_reserved as f64),
            ("memory_budget_bytes", "Most memory that hashes may hold", stats.budget as f64),
            ("work_per_second", "Units of work done per second", stats.rate.unwrap_or(0.0)),
        ];
        for (name, about, value) in gauges {
            self.one(&format!("saltern_pool_{name}"), "gauge", about, value);
        }
        if let Some(wait) = stats.predicted_wait {
            let about = "How long a login would wait now";
            self.one("saltern_pool_wait_seconds", "gauge", about, wait.as_secs_f64());
        }
        let counters = [
            ("hashes", "Hashes computed", stats.hashes),
            ("work", "Units of work computed", stats.work),
            ("expired", "Hashes whose deadline passed while they waited", stats.expired),
            ("cancelled", "Hashes cancelled before they began", stats.cancelled),
            ("failed", "Hashes that could not be computed", stats.failed),
            ("evictions", "Arenas given back to make room", stats.evictions),
            ("rom_reads", "Blocks of ROMs read from files", stats.reads.blocks),
            ("rom_repeated_reads", "Such reads that were repeated", stats.reads.repeated),
        ];
        for (name, about, value) in counters {
            self.one(&format!("saltern_pool_{name}_total"), "counter", about, value as f64);
        }
        let (name, waited) = ("saltern_pool_rom_wait_seconds_total", stats.reads.stalled);
        let about = "Total time that threads spent only waiting for ROMs";
        self.one(name, "counter", about, waited.as_secs_f64());
        let name = "saltern_pool_groups_total";
        self.head(name, "counter", "Groups of hashes computed together, by size");
        for (at, count) in stats.groups.iter().enumerate() {
            self.value(name, &[("size", &(at + 1).to_string())], *count as f64);
        }
    }

    fn site(&mut self, current: &Current) {
        let policy = current.passwords.table().policy();
        let active = |active: bool| if active { "true" } else { "false" };
        self.head("saltern_rom_info", "gauge", "The ROMs of the policy");
        for rom in &policy.roms {
            let id = rom.id.to_string();
            self.value("saltern_rom_info", &[("id", &id), ("active", active(rom.active))], 1.0);
        }
        let damaged = current.passwords.damaged_roms().len() as f64;
        self.one("saltern_rom_damaged", "gauge", "ROMs that a check has found damaged", damaged);
        self.head("saltern_key_info", "gauge", "The keys of the policy");
        for key in &policy.keys {
            let labels = [("name", key.name.as_str()), ("active", active(key.active))];
            self.value("saltern_key_info", &labels, 1.0);
        }
        self.head("saltern_client_ended_total", "counter", "Requests that have ended, by client");
        for client in &current.clients.0 {
            let count = client.ended.load(Relaxed) as f64;
            self.value("saltern_client_ended_total", &[("client", &client.name)], count);
        }
        self.head("saltern_client_requests", "gauge", "Requests under way, by client");
        for client in &current.clients.0 {
            let count = client.under_way.load(Relaxed) as f64;
            self.value("saltern_client_requests", &[("client", &client.name)], count);
        }
        let name = "saltern_client_overloaded_total";
        self.head(
            name,
            "counter",
            "Requests refused or given up for lack of room or time, by client",
        );
        for client in &current.clients.0 {
            let count = client.overloaded.load(Relaxed) as f64;
            self.value(name, &[("client", &client.name)], count);
        }
    }
}
