//! The process's own numbers: the operating system is asked when somebody scrapes, gauges go out.

use metrics::Gauge;
use metrics_process::collector;

use super::{families, handles::Registry};

/// Gauges of the process, set by [`Process::collect`].
pub(super) struct Process {
    open_fds: Gauge,
    max_fds: Gauge,
    virtual_memory: Gauge,
    virtual_memory_max: Gauge,
    resident_memory: Gauge,
    start_time: Gauge,
    threads: Gauge,
}

impl Process {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            open_fds: registry.gauge(&families::PROCESS_OPEN_FDS, []),
            max_fds: registry.gauge(&families::PROCESS_MAX_FDS, []),
            virtual_memory: registry.gauge(&families::PROCESS_VIRTUAL, []),
            virtual_memory_max: registry.gauge(&families::PROCESS_VIRTUAL_MAX, []),
            resident_memory: registry.gauge(&families::PROCESS_RESIDENT, []),
            start_time: registry.gauge(&families::PROCESS_START, []),
            threads: registry.gauge(&families::PROCESS_THREADS, []),
        }
    }

    /// Sets every gauge that the system tells, and returns the processor time in seconds.
    ///
    /// The numbers are read without the crate's own recording of them, which cuts processor time to whole seconds.
    pub(super) fn collect(&self) -> Option<f64> {
        let now = collector::collect();
        for (gauge, value) in [
            (&self.open_fds, now.open_fds),
            (&self.max_fds, now.max_fds.map(limit)),
            (&self.virtual_memory, now.virtual_memory_bytes),
            (&self.virtual_memory_max, now.virtual_memory_max_bytes.map(limit)),
            (&self.resident_memory, now.resident_memory_bytes),
            (&self.start_time, now.start_time_seconds),
            (&self.threads, now.threads),
        ] {
            if let Some(value) = value {
                gauge.set(value as f64);
            }
        }
        now.cpu_seconds_total
    }
}

/// No limit is told as zero; shown so, it would look like a limit that is always passed.
fn limit(told: u64) -> u64 {
    if told == 0 { u64::MAX } else { told }
}
