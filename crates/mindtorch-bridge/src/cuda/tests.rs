#![expect(unsafe_code, reason = "the names of kernels in records are pointers")]

use super::activity::{Activity, Reader};
use super::layout::{Record, copy, kernel, kind, peer_copy, set, wait};
use super::occupancy::tests::H200;
use mindtorch_profiler::{DeviceWork, Name};
use std::ffi::CStr;

/// Bytes of a kernel's record in CUDA 12.8, 13.0 and 13.2: what is appended is not read.
const KERNEL_BYTES: [usize; 3] = [208, 216, 224];
/// Bytes of a copy's record in CUDA 12.1 and 12.8, and of a wait's.
const COPY_BYTES: [usize; 2] = [88, 96];
const WAIT_BYTES: [usize; 2] = [40, 56];

/// A record that is full of what should not be read.
struct Bytes(Vec<u8>);

impl Bytes {
    fn new(kind: u32, length: usize) -> Self {
        Self(vec![0xee; length]).u32(0, kind)
    }

    fn put(mut self, at: usize, bytes: &[u8]) -> Self {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }

    fn u8(self, at: usize, value: u8) -> Self {
        self.put(at, &[value])
    }

    fn u16(self, at: usize, value: u16) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    fn u32(self, at: usize, value: u32) -> Self {
        self.put(at, &value.to_ne_bytes())
    }

    fn u64(self, at: usize, value: u64) -> Self {
        self.put(at, &value.to_ne_bytes())
    }
}

fn kernel_record(length: usize, name: &CStr) -> Bytes {
    [(kernel::DEVICE, 0), (kernel::CONTEXT, 1), (kernel::STREAM, 7), (kernel::CORRELATION, 3975), (kernel::GRAPH, 0)]
        .into_iter()
        .chain([(kernel::GRID, 264), (kernel::GRID + 4, 1), (kernel::GRID + 8, 1)])
        .chain([(kernel::BLOCK, 256), (kernel::BLOCK + 4, 1), (kernel::BLOCK + 8, 1)])
        .chain([(kernel::STATIC_SHARED_MEMORY, 4000), (kernel::DYNAMIC_SHARED_MEMORY, 356)])
        .fold(Bytes::new(kind::KERNEL, length), |bytes, (at, value)| bytes.u32(at, value))
        .u16(kernel::REGISTERS, 18)
        .u64(kernel::START, 1_000)
        .u64(kernel::END, 1_832)
        .u64(kernel::GRAPH_NODE, 0)
        .u64(kernel::NAME, name.as_ptr().addr() as u64)
}

fn read(reader: &mut Reader, bytes: &Bytes) -> Option<Activity> {
    // SAFETY: the names in these records are strings of the tests.
    unsafe { reader.read(Record(&bytes.0)) }
}

#[test]
fn a_kernel_is_what_its_record_says_in_each_version() {
    for length in KERNEL_BYTES {
        let mut reader = Reader::new(&[H200]);
        let activity = read(&mut reader, &kernel_record(length, c"triton_add")).expect("it is a kernel");
        assert_eq!((activity.work, &*activity.name.text()), (DeviceWork::Kernel, "triton_add"));
        assert_eq!((activity.device, activity.stream, activity.call), (0, 7, 3975));
        assert_eq!((activity.start, activity.end, activity.bytes), (1_000, 1_832, 0));
        let extra = activity.extra.text();
        assert_eq!(
            &*extra,
            "\"queued\":0,\"context\":1,\"registers per thread\":18,\"shared memory\":4356,\"blocks per SM\":2.000000,\
             \"warps per SM\":16.000000,\"grid\":[264,1,1],\"block\":[256,1,1],\"est. achieved occupancy %\":25"
        );
        let again = read(&mut reader, &kernel_record(length, c"triton_add"));
        assert_eq!(again, Some(activity));
    }
}

#[test]
fn kernels_of_graphs_say_so_and_those_of_unknown_devices_less() {
    let mut reader = Reader::new(&[H200]);
    let graph = kernel_record(KERNEL_BYTES[0], c"k").u32(kernel::GRAPH, 5).u64(kernel::GRAPH_NODE, 9);
    let extra = read(&mut reader, &graph).unwrap().extra.text();
    assert!(extra.ends_with(",\"graph id\":5,\"graph node id\":9"), "{extra}");
    let elsewhere = kernel_record(KERNEL_BYTES[0], c"k").u32(kernel::DEVICE, 3);
    let activity = read(&mut reader, &elsewhere).unwrap();
    assert_eq!(activity.device, 3);
    assert!(!activity.extra.text().contains("per SM"));
}

#[test]
fn kernels_with_one_address_of_their_names_are_told_apart_by_the_names() {
    let mut reader = Reader::new(&[]);
    let mut name = *b"one\0";
    let shown = |reader: &mut Reader, name: &[u8; 4]| {
        let name = CStr::from_bytes_with_nul(name).unwrap();
        read(reader, &kernel_record(KERNEL_BYTES[0], name)).unwrap().name.text()
    };
    assert_eq!(&*shown(&mut reader, &name), "one");
    name.copy_from_slice(b"two\0");
    assert_eq!(&*shown(&mut reader, &name), "two");
    let nameless = kernel_record(KERNEL_BYTES[0], c"").u64(kernel::NAME, 0);
    assert_eq!(&*read(&mut reader, &nameless).unwrap().name.text(), "<unknown>");
}

fn copy_record(kind: u32, length: usize) -> Bytes {
    [(copy::DEVICE, 1), (copy::CONTEXT, 2), (copy::STREAM, 13), (copy::CORRELATION, 8367)]
        .into_iter()
        .fold(Bytes::new(kind, length), |bytes, (at, value)| bytes.u32(at, value))
        .u64(copy::BYTES, 1024)
        .u64(copy::START, 50)
        .u64(copy::END, 60)
}

#[test]
fn copies_and_sets_are_what_their_records_say() {
    let mut reader = Reader::new(&[]);
    for length in COPY_BYTES {
        let bytes = copy_record(kind::COPY, length);
        let bytes = bytes.u8(copy::COPY_KIND, 1).u8(copy::SOURCE_KIND, 1).u8(copy::TARGET_KIND, 3);
        let expected = Activity {
            work: DeviceWork::Copy,
            name: Name::new("Memcpy HtoD (Pageable -> Device)"),
            device: 1,
            stream: 13,
            start: 50,
            end: 60,
            bytes: 1024,
            call: 8367,
            extra: Name::new("\"context\":2"),
        };
        assert_eq!(read(&mut reader, &bytes), Some(expected));
    }
    let bytes = copy_record(kind::SET, 88).u16(set::MEMORY_KIND, 3);
    let activity = read(&mut reader, &bytes).unwrap();
    assert_eq!((activity.work, &*activity.name.text()), (DeviceWork::Set, "Memset (Device)"));
    assert_eq!((activity.bytes, activity.call), (1024, 8367));
}

#[test]
fn copies_between_gpus_say_which() {
    let bytes = copy_record(kind::PEER_COPY, 96);
    let bytes = bytes.u8(copy::COPY_KIND, 10).u8(copy::SOURCE_KIND, 3).u8(copy::TARGET_KIND, 3);
    let bytes = bytes.u32(peer_copy::SOURCE_DEVICE, 1).u32(peer_copy::TARGET_DEVICE, 0).u32(peer_copy::CORRELATION, 77);
    let activity = read(&mut Reader::new(&[]), &bytes).unwrap();
    assert_eq!(&*activity.name.text(), "Memcpy PtoP (Device -> Device)");
    assert_eq!((activity.call, activity.bytes, activity.device), (77, 1024, 1));
    assert_eq!(&*activity.extra.text(), "\"context\":2,\"fromDevice\":1,\"toDevice\":0");
}

#[test]
fn waits_are_of_the_gpu_of_their_context() {
    let mut reader = Reader::new(&[]);
    read(&mut reader, &copy_record(kind::SET, 88)).expect("the context is that of device 1");
    for length in WAIT_BYTES {
        let bytes = [(wait::TYPE, 2), (wait::CONTEXT, 2), (wait::STREAM, 20), (wait::EVENT, 6), (wait::CORRELATION, 9)]
            .into_iter()
            .fold(Bytes::new(kind::WAIT, length), |bytes, (at, value)| bytes.u32(at, value))
            .u64(wait::START, 5)
            .u64(wait::END, 6);
        let activity = read(&mut reader, &bytes).unwrap();
        assert_eq!((activity.work, &*activity.name.text()), (DeviceWork::Sync, "Stream Wait Event"));
        assert_eq!((activity.device, activity.stream, activity.call), (1, 20, 9));
        let extra = "\"context\":2,\"cuda_sync_kind\":\"Stream Wait Event\",\"wait_on_cuda_event_id\":6";
        assert_eq!(&*activity.extra.text(), extra);
        let of_all = bytes.u32(wait::TYPE, 4).u32(wait::STREAM, u32::MAX).u32(wait::EVENT, u32::MAX);
        let activity = read(&mut reader, &of_all).unwrap();
        assert_eq!((activity.stream, &*activity.name.text()), (0, "Context Sync"));
        assert!(!activity.extra.text().contains("event"));
    }
}

#[test]
fn what_has_no_times_or_is_something_else_is_left_out() {
    let mut reader = Reader::new(&[]);
    assert_eq!(read(&mut reader, &copy_record(kind::COPY, 96).u64(copy::START, 0).u64(copy::END, 0)), None);
    assert_eq!(read(&mut reader, &copy_record(kind::COPY, 96).u64(copy::END, 0)), None);
    assert_eq!(read(&mut reader, &Bytes::new(17, 64)), None);
    assert_eq!(read(&mut reader, &Bytes(Vec::new())), None);
}

#[test]
fn without_a_gpu_nothing_is_loaded() {
    if !super::driver::driver().processors.is_empty() {
        return;
    }
    let nowhere = std::path::PathBuf::from("/nowhere/libcupti.so.13");
    assert!(!super::start(&[nowhere], true).expect("no GPU is no error"));
    assert!(!super::is_running());
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    assert!(!maps.contains("libcupti") && !maps.contains("libcuda.so"));
    super::flush().expect("there is nothing to do");
    super::stop().expect("there is nothing to stop");
    assert_eq!(super::lost(), 0);
}
