//! The numbers of the fields that are written, as in Perfetto's `perfetto_trace.proto`. The names are its own.

/// `Trace`.
pub(super) const PACKET: u32 = 1;

pub(super) mod packet {
    pub(in super::super) const CLOCK_SNAPSHOT: u32 = 6;
    pub(in super::super) const TIMESTAMP: u32 = 8;
    pub(in super::super) const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub(in super::super) const TRACK_EVENT: u32 = 11;
    pub(in super::super) const INTERNED_DATA: u32 = 12;
    pub(in super::super) const SEQUENCE_FLAGS: u32 = 13;
    pub(in super::super) const TRACE_PACKET_DEFAULTS: u32 = 59;
    pub(in super::super) const TRACK_DESCRIPTOR: u32 = 60;
    pub(in super::super) const FIRST_PACKET_ON_SEQUENCE: u32 = 87;

    /// A value of `SEQUENCE_FLAGS`.
    pub(in super::super) const INCREMENTAL_STATE_CLEARED: u64 = 1;
}

pub(super) mod clock_snapshot {
    pub(in super::super) const CLOCKS: u32 = 1;
    pub(in super::super) const PRIMARY_TRACE_CLOCK: u32 = 2;
}

pub(super) mod clock {
    pub(in super::super) const CLOCK_ID: u32 = 1;
    pub(in super::super) const TIMESTAMP: u32 = 2;
    pub(in super::super) const IS_INCREMENTAL: u32 = 3;

    /// A clock: nanoseconds since the Unix epoch.
    pub(in super::super) const REALTIME: u64 = 1;
    /// A clock: the first of those that each sequence has for itself.
    pub(in super::super) const OF_SEQUENCE: u64 = 64;
}

pub(super) mod defaults {
    pub(in super::super) const TRACK_EVENT_DEFAULTS: u32 = 11;
    pub(in super::super) const TIMESTAMP_CLOCK_ID: u32 = 58;
    /// Of `TrackEventDefaults`.
    pub(in super::super) const TRACK_UUID: u32 = 11;
}

pub(super) mod event {
    pub(in super::super) const CATEGORY_IIDS: u32 = 3;
    pub(in super::super) const DEBUG_ANNOTATIONS: u32 = 4;
    pub(in super::super) const TYPE: u32 = 9;
    pub(in super::super) const NAME_IID: u32 = 10;
    pub(in super::super) const TRACK_UUID: u32 = 11;
    pub(in super::super) const NAME: u32 = 23;
    pub(in super::super) const COUNTER_VALUE: u32 = 30;
    pub(in super::super) const DOUBLE_COUNTER_VALUE: u32 = 44;
    pub(in super::super) const FLOW_IDS: u32 = 47;
    pub(in super::super) const TERMINATING_FLOW_IDS: u32 = 48;

    pub(in super::super) const SLICE_BEGIN: u64 = 1;
    pub(in super::super) const SLICE_END: u64 = 2;
    pub(in super::super) const INSTANT: u64 = 3;
    pub(in super::super) const COUNTER: u64 = 4;
}

pub(super) mod annotation {
    pub(in super::super) const NAME_IID: u32 = 1;
    pub(in super::super) const BOOL_VALUE: u32 = 2;
    pub(in super::super) const UINT_VALUE: u32 = 3;
    pub(in super::super) const INT_VALUE: u32 = 4;
    pub(in super::super) const DOUBLE_VALUE: u32 = 5;
    pub(in super::super) const STRING_VALUE: u32 = 6;
    pub(in super::super) const DICT_ENTRIES: u32 = 11;
    pub(in super::super) const ARRAY_VALUES: u32 = 12;
    pub(in super::super) const STRING_VALUE_IID: u32 = 17;
}

pub(super) mod interned {
    pub(in super::super) const EVENT_CATEGORIES: u32 = 1;
    pub(in super::super) const EVENT_NAMES: u32 = 2;
    pub(in super::super) const DEBUG_ANNOTATION_NAMES: u32 = 3;
    pub(in super::super) const DEBUG_ANNOTATION_STRING_VALUES: u32 = 29;
    /// Of all four messages.
    pub(in super::super) const IID: u32 = 1;
    pub(in super::super) const TEXT: u32 = 2;
}

pub(super) mod track {
    pub(in super::super) const UUID: u32 = 1;
    pub(in super::super) const NAME: u32 = 2;
    pub(in super::super) const PROCESS: u32 = 3;
    pub(in super::super) const THREAD: u32 = 4;
    pub(in super::super) const PARENT_UUID: u32 = 5;
    pub(in super::super) const COUNTER: u32 = 8;
    pub(in super::super) const CHILD_ORDERING: u32 = 11;
    pub(in super::super) const SIBLING_ORDER_RANK: u32 = 12;

    /// A value of `CHILD_ORDERING`: by rank.
    pub(in super::super) const EXPLICIT: u64 = 3;
}

pub(super) mod process {
    pub(in super::super) const PID: u32 = 1;
    pub(in super::super) const PROCESS_NAME: u32 = 6;
    pub(in super::super) const PROCESS_LABELS: u32 = 8;
}

pub(super) mod thread {
    pub(in super::super) const PID: u32 = 1;
    pub(in super::super) const TID: u32 = 2;
    pub(in super::super) const LEGACY_SORT_INDEX: u32 = 3;
    pub(in super::super) const THREAD_NAME: u32 = 5;
}

pub(super) mod counter {
    pub(in super::super) const UNIT: u32 = 3;

    /// A value of `UNIT`.
    pub(in super::super) const BYTES: u64 = 3;
}
