//! What a process and its children cost: a process id comes in, CPU time and memory from `/proc` go out.

use std::{fs, time::Duration};

/// Linux reports CPU time in hundredths of a second on every machine, whatever the kernel counts in.
const TICK: Duration = Duration::from_millis(10);

/// User and system time of `pid` and everything below it, since each began.
///
/// # Errors
/// No such process.
pub fn cpu(pid: u32) -> Result<Duration, String> {
    let mut ticks = 0;
    for pid in tree(pid)? {
        // Those that it waited for count too, so that a worker that was replaced is not lost.
        ticks += stat(pid).map_or(0, |stat| stat.ticks);
    }
    Ok(TICK * ticks)
}

/// How long the threads of `pid` and of everything below it were ready to run while others had their core.
///
/// # Errors
/// No such process.
pub fn waited(pid: u32) -> Result<Duration, String> {
    let of = |pid| {
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        threads.filter_map(|thread| {
            let times = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            times.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
    };
    Ok(Duration::from_nanos(tree(pid)?.into_iter().flat_map(of).sum()))
}

/// Resident memory of `pid` and everything below it, in KiB.
///
/// # Errors
/// No such process.
pub fn resident(pid: u32) -> Result<u64, String> {
    let of = |pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    Ok(tree(pid)?.into_iter().filter_map(of).sum())
}

struct Stat {
    parent: u32,
    ticks: u32,
}

fn stat(pid: u32) -> Option<Stat> {
    parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

fn parse(line: &str) -> Option<Stat> {
    // The name is in parentheses and may hold anything, parentheses too.
    let fields: Vec<&str> = line[line.rfind(')')? + 1..].split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u32>().ok();
    let ticks = (11..15).map(number).sum::<Option<u32>>()?;
    Some(Stat { parent: number(1)?, ticks })
}

fn tree(root: u32) -> Result<Vec<u32>, String> {
    stat(root).ok_or_else(|| format!("no process {root}"))?;
    let all: Vec<(u32, u32)> = fs::read_dir("/proc")
        .map_err(|e| format!("/proc: {e}"))?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, stat(pid)?.parent)))
        .collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(all.iter().filter(|(_, p)| *p == parent).map(|(pid, _)| *pid));
        next += 1;
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let line = "7 (a) b (c) S 3 7 7 0 -1 0 0 0 0 0 40 30 20 10 20 0 1 0 99 0 0";
        let stat = parse(line).unwrap();
        assert_eq!((stat.parent, stat.ticks), (3, 100));
    }

    #[test]
    fn children_count() {
        let mut child = Command::new("sleep").arg("30").spawn().unwrap();
        let family = tree(std::process::id()).unwrap();
        assert!(family.contains(&child.id()));
        assert!(resident(std::process::id()).unwrap() > resident(child.id()).unwrap());
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn work_shows_as_cpu_time() {
        let before = cpu(std::process::id()).unwrap();
        let began = std::time::Instant::now();
        while cpu(std::process::id()).unwrap() < before + 5 * TICK {
            assert!(began.elapsed() < Duration::from_secs(20), "no CPU time was counted");
        }
    }

    #[test]
    fn threads_that_share_a_core_wait_for_each_other() {
        let mut busy: Vec<_> = (0..2)
            .map(|_| Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]).spawn().unwrap())
            .collect();
        std::thread::sleep(Duration::from_millis(600));
        let waited = waited(busy[0].id()).unwrap();
        for child in &mut busy {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(waited > Duration::from_millis(50), "{waited:?}");
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(cpu(child.id()).is_err());
    }
}
