//! The memory of the machine or of the container.

use std::fs;

/// Returns the memory in bytes, if the operating system reports it.
pub(super) fn memory() -> Option<u64> {
    let total = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(total_of);
    // A container may have less than the machine it runs on.
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let contained =
        files.iter().filter_map(|file| fs::read_to_string(file).ok()?.trim().parse().ok());
    contained.chain(total).min()
}

/// Parses the line `MemTotal:  24689876 kB` of Linux.
fn total_of(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read_in_kib() {
        let meminfo = "MemFree:  1 kB\nMemTotal:       24689876 kB\nMemAvailable: 2 kB\n";
        assert_eq!(total_of(meminfo), Some(24_689_876 * 1024));
        assert_eq!(total_of("MemTotal: much\n"), None);
        assert_eq!(total_of(""), None);
    }
}
