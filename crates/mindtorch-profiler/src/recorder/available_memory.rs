//! The memory that this process may use: the machine's, or less if a control group (cgroup) limits it, as in a container.

use std::path::{Component, Path, PathBuf};

/// Returns the memory in bytes that this process may use, or `None` if it is unknown. `root` is the directory that
/// holds `proc` and the mounted control groups: `/`, or a test's own.
pub(super) fn available_memory(root: &Path) -> Option<u64> {
    let limits = Hierarchy::all(root).into_iter().filter_map(|hierarchy| hierarchy.lowest_limit());
    machine_memory(root).into_iter().chain(limits).min()
}

fn machine_memory(root: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

impl Version {
    /// The files of a group that hold a limit in bytes. Above `memory.high` the kernel reclaims memory and slows the processes
    /// of the group down, so a default bound must not count on what lies above it.
    fn limit_files(self) -> &'static [&'static str] {
        match self {
            Self::V1 => &["memory.limit_in_bytes"],
            Self::V2 => &["memory.max", "memory.high"],
        }
    }
}

/// A mounted hierarchy of control groups that can limit memory, and the group of this process in it.
#[derive(Debug)]
struct Hierarchy {
    version: Version,
    /// The directory that the hierarchy, or a part of it, is mounted on.
    mount: PathBuf,
    /// The directory of the group of this process, relative to `mount`. Empty if the group is not visible under the mount.
    group: PathBuf,
}

impl Hierarchy {
    fn all(root: &Path) -> Vec<Self> {
        let read = |path: &str| std::fs::read(root.join(path)).unwrap_or_default();
        // Mount points need not be UTF-8. One that is not does not hide the others.
        let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
        let (groups, mounts) = (String::from_utf8_lossy(&groups), String::from_utf8_lossy(&mounts));
        mounts.lines().filter_map(|line| Self::parse(root, line, &groups)).collect()
    }

    /// Parses a line of `/proc/self/mountinfo`: `id parent device root mount-point options [tags] - type source options`.
    fn parse(root: &Path, line: &str, groups: &str) -> Option<Self> {
        let (mount, file_system) = line.split_once(" - ")?;
        let mut file_system = file_system.split(' ');
        let (kind, options) = (file_system.next()?, file_system.nth(1).unwrap_or_default());
        let version = match kind {
            "cgroup2" => Version::V2,
            "cgroup" if options.split(',').any(|option| option == "memory") => Version::V1,
            _ => return None,
        };
        let mut fields = mount.split(' ').skip(3).map(unescape);
        let (mounted_group, mount_point) = (fields.next()?, fields.next()?);
        let group = path_of_group(groups, version)?;
        // In a control group namespace, or if only part of the hierarchy is mounted, the group's path may not lie below the
        // group that is mounted. The limits of that group still apply.
        let group = Path::new(group).strip_prefix(&mounted_group).unwrap_or(Path::new(""));
        let is_below = group.components().all(|component| matches!(component, Component::Normal(_)));
        Some(Self {
            version,
            mount: root.join(mount_point.trim_start_matches('/')),
            group: if is_below { group.to_owned() } else { PathBuf::new() },
        })
    }

    /// Returns the lowest limit of the group and of the groups around it, as far as they are mounted.
    fn lowest_limit(&self) -> Option<u64> {
        let directories = self.group.ancestors().map(|group| self.mount.join(group));
        let files =
            directories.flat_map(|directory| self.version.limit_files().iter().map(move |file| directory.join(file)));
        files.filter_map(|file| parse_limit(&std::fs::read_to_string(file).ok()?)).min()
    }
}

/// Finds the path of this process's group in `/proc/self/cgroup`, whose lines are `id:controllers:path`. Version 2 has the id
/// 0 and no controllers.
fn path_of_group(groups: &str, version: Version) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (id, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        let is_wanted = match version {
            Version::V1 => controllers.split(',').any(|controller| controller == "memory"),
            Version::V2 => id == "0" && controllers.is_empty(),
        };
        is_wanted.then_some(path)
    })
}

/// Parses the contents of a limit file. `max` and anything else that is not a number is no limit. Version 1 writes a number
/// close to 2^63 for no limit, which is more memory than any machine has.
fn parse_limit(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// Decodes the octal escapes of `/proc/self/mountinfo`, such as `\040` for a space.
fn unescape(field: &str) -> String {
    let mut decoded = String::with_capacity(field.len());
    let mut rest = field;
    while let Some((before, after)) = rest.split_once('\\') {
        decoded.push_str(before);
        // At most 255, and never part of a longer character: the kernel escapes only ASCII characters.
        let code = after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match code {
            Some(code) => {
                decoded.push(code.into());
                rest = &after[3..];
            }
            None => {
                decoded.push('\\');
                rest = after;
            }
        }
    }
    decoded + rest
}

// Miri has nothing to check here, and takes half a minute.
#[cfg(all(test, not(any(loom, miri))))]
mod tests {
    use super::*;
    use std::fs;

    const MIB: u64 = 1 << 20;
    const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
    const NO_LIMIT_V1: &str = "9223372036854771712\n";

    /// A made root directory with 1 GiB of machine memory.
    struct Root(tempfile::TempDir);

    impl Root {
        fn new(groups: &str, mounts: &str) -> Self {
            let root = Self(tempfile::tempdir().unwrap());
            root.write("proc/meminfo", "MemFree: 1 kB\nMemTotal:        1048576 kB\n");
            root.write("proc/self/cgroup", groups);
            root.write("proc/self/mountinfo", format!("23 1 8:1 / / rw - ext4 /dev/root rw\n{mounts}"));
            root
        }

        fn write(&self, path: &str, contents: impl AsRef<[u8]>) {
            let path = self.0.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, contents).unwrap();
        }

        fn mib(&self) -> u64 {
            available_memory(self.0.path()).unwrap() / MIB
        }
    }

    #[test]
    fn without_a_limit_it_is_the_memory_of_the_machine() {
        let root = Root::new("0::/user.slice/a.scope\n", V2_MOUNT);
        assert_eq!(root.mib(), 1024);
        root.write("sys/fs/cgroup/user.slice/a.scope/memory.max", "max\n");
        root.write("sys/fs/cgroup/user.slice/memory.max", (4096 * MIB).to_string());
        assert_eq!(root.mib(), 1024);
    }

    #[test]
    fn the_lowest_limit_on_the_path_to_the_root_counts() {
        let root = Root::new("0::/user.slice/a.scope\n", V2_MOUNT);
        root.write("sys/fs/cgroup/user.slice/a.scope/memory.max", (512 * MIB).to_string());
        assert_eq!(root.mib(), 512);
        root.write("sys/fs/cgroup/user.slice/memory.max", (256 * MIB).to_string());
        assert_eq!(root.mib(), 256);
        root.write("sys/fs/cgroup/user.slice/a.scope/memory.high", (128 * MIB).to_string());
        assert_eq!(root.mib(), 128);
        root.write("sys/fs/cgroup/memory.max", (64 * MIB).to_string());
        assert_eq!(root.mib(), 64);
        root.write("sys/fs/cgroup/other.slice/memory.max", (32 * MIB).to_string());
        assert_eq!(root.mib(), 64);
    }

    #[test]
    fn in_a_container_the_group_is_the_root_of_its_mount() {
        // With a namespace, the process is in "/". Version 1 without one mounts its own group over the root's.
        for (groups, mount) in [
            ("0::/\n", V2_MOUNT),
            ("0::/\n", "30 23 0:26 /../../docker/7 /sys/fs/cgroup ro - cgroup2 cgroup ro\n"),
            ("0::/../other\n", V2_MOUNT),
        ] {
            let root = Root::new(groups, mount);
            root.write("sys/fs/cgroup/memory.max", (100 * MIB).to_string());
            assert_eq!(root.mib(), 100, "{groups:?} {mount:?}");
        }
        for mounted in ["/docker/7", "/"] {
            let mount = format!("35 31 0:32 {mounted} /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
            let root = Root::new("5:cpu,cpuacct:/docker/7\n4:memory,hugetlb:/docker/7\n", &mount);
            root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", (100 * MIB).to_string());
            assert_eq!(root.mib(), 100, "{mounted}");
        }
    }

    #[test]
    fn version_1_is_read_also_beside_version_2() {
        let mounts = "31 23 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/my\\040memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let root = Root::new("4:memory:/jobs/7\n1:cpu:/elsewhere\n0::/\n", mounts);
        root.write("sys/fs/cgroup/my memory/jobs/7/memory.limit_in_bytes", NO_LIMIT_V1);
        root.write("sys/fs/cgroup/my memory/memory.limit_in_bytes", NO_LIMIT_V1);
        assert_eq!(root.mib(), 1024);
        root.write("sys/fs/cgroup/my memory/jobs/memory.limit_in_bytes", (200 * MIB).to_string());
        assert_eq!(root.mib(), 200);
        root.write("sys/fs/cgroup/unified/memory.max", (50 * MIB).to_string());
        assert_eq!(root.mib(), 50);
    }

    #[test]
    fn contents_that_make_no_sense_are_no_limit() {
        for contents in [&b""[..], b"\n", b"-1", b"lots", b"12 34", b"99999999999999999999999", b"\xff\xfe", b"1e6"] {
            let root = Root::new("0::/a\n", V2_MOUNT);
            root.write("sys/fs/cgroup/a/memory.max", contents);
            assert_eq!(root.mib(), 1024, "{contents:?}");
        }
        let odd = ["", ":", "::", "0:", "0::", "0::\n", "0::relative", "no colon", "\u{0}", "0::/../..", "4:memory:"];
        let mounts = [
            "",
            " - ",
            "- cgroup2",
            " - cgroup2 x",
            "a b c / - cgroup2 x y",
            "1 2 3 \\ \\04 rw - cgroup2 x y",
            "1 2 3 / \\777é rw - cgroup x memory",
            "1 2 3   - cgroup x memory",
        ];
        for groups in odd {
            for mount in mounts {
                assert_eq!(Root::new(groups, mount).mib(), 1024, "{groups:?} {mount:?}");
            }
        }
    }

    #[test]
    fn a_system_that_tells_nothing_has_no_known_memory() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(available_memory(root.path()), None);
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/meminfo"), "MemTotal: 99999999999999999999 kB\n").unwrap();
        assert_eq!(available_memory(root.path()), None);
    }
}
