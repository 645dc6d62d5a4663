//! Sequences of packets, with a clock and tables of texts of their own.
//!
//! The times in a sequence are differences to the packet before, so that they are short, and what a packet does not say it
//! has by default: the clock, and the track that its event is on. A thread's spans are one sequence, its allocations
//! another; time never runs backwards in one.
//!
//! Packets do not say `SEQ_NEEDS_INCREMENTAL_STATE`, with which a reader would skip what it cannot understand because
//! packets before were lost: a file has them all.

use super::captured::Captured;
use super::field::{self, annotation, clock, clock_snapshot, defaults, event, packet};
use super::interned::Interned;
use super::json_value;
use super::proto::{self, Buffer, Message};
use super::words::{Category, Key};
use crate::trace::Trace;

pub(super) struct Sequence<'a> {
    pub(super) interned: Interned<'a>,
    pub(super) captured: Captured,
    start_epoch_ns: u64,
    id: u32,
    /// Where events are that do not say it.
    track: u64,
    /// The time of the last packet, since the start of the trace.
    now: u64,
    /// The bytes of an event's packet from the number of the sequence to the type of the event, which is missing, and how
    /// many they are with it.
    head: (u64, usize),
}

/// The last number that takes three bytes.
const LAST_ID: u32 = (1 << 21) - 1;

const fn head_of_event(id: u64) -> (u64, usize) {
    let (number, count) = proto::short_varint(id);
    let event =
        proto::short_tag(packet::TRACK_EVENT, proto::LENGTH) | proto::short_tag(event::TYPE, proto::VARINT) << 16;
    let sequence = proto::short_tag(packet::TRUSTED_PACKET_SEQUENCE_ID, proto::VARINT);
    (sequence | number << 8 | event << (8 * (count + 1)), count + 5)
}

/// An event that is being written.
#[derive(Clone, Copy)]
pub(super) struct Event {
    packet: Message,
    content: Message,
}

impl<'a> Sequence<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let (interned, captured) = (Interned::new(&trace.names), Captured::default());
        Self { interned, captured, start_epoch_ns: trace.header.start_epoch_ns, id: 0, track: 0, now: 0, head: (0, 0) }
    }

    /// Begins the next sequence. Its events are on `track`.
    pub(super) fn start(&mut self, out: &mut Buffer, track: u64) {
        self.interned.clear();
        self.captured.clear();
        // More sequences than this are never made: a thread, a stream or a piece of disorder is one.
        self.id = (self.id + 1).min(LAST_ID);
        self.head = head_of_event(u64::from(self.id));
        self.track = track;
        self.now = 0;
        let first = self.begin_packet(out);
        out.number(packet::SEQUENCE_FLAGS, packet::INCREMENTAL_STATE_CLEARED);
        out.number(packet::FIRST_PACKET_ON_SEQUENCE, 1);
        let snapshot = out.begin(packet::CLOCK_SNAPSHOT);
        for id in [clock::REALTIME, clock::OF_SEQUENCE] {
            let of_clock = out.begin(clock_snapshot::CLOCKS);
            out.number(clock::CLOCK_ID, id);
            out.number(clock::TIMESTAMP, self.start_epoch_ns);
            if id == clock::OF_SEQUENCE {
                out.number(clock::IS_INCREMENTAL, 1);
            }
            out.end(of_clock);
        }
        out.number(clock_snapshot::PRIMARY_TRACE_CLOCK, clock::REALTIME);
        out.end(snapshot);
        let of_packets = out.begin(packet::TRACE_PACKET_DEFAULTS);
        out.number(defaults::TIMESTAMP_CLOCK_ID, clock::OF_SEQUENCE);
        let of_events = out.begin(defaults::TRACK_EVENT_DEFAULTS);
        out.number(defaults::TRACK_UUID, track);
        out.end(of_events);
        out.end(of_packets);
        out.end(first);
    }

    /// Begins a packet that has no time.
    pub(super) fn begin_packet(&self, out: &mut Buffer) -> Message {
        let begun = out.begin(field::PACKET);
        out.number(packet::TRUSTED_PACKET_SEQUENCE_ID, u64::from(self.id));
        begun
    }

    /// Begins an event of a type. An event that lies before the last one begins the next sequence.
    #[inline(always)]
    pub(super) fn begin(&mut self, out: &mut Buffer, of_type: u64, at_ns: u64) -> Event {
        if at_ns < self.now {
            self.start(out, self.track);
        }
        let begun = out.begin(field::PACKET);
        out.number(packet::TIMESTAMP, at_ns - self.now);
        self.now = at_ns;
        let (head, count) = self.head;
        out.word(head | of_type << (8 * (count - 1)), count);
        // The type follows the length: two bytes.
        let content = out.begun_before(2);
        Event { packet: begun, content }
    }

    /// Puts the event on a track that is not the sequence's.
    #[inline]
    pub(super) fn on_track(&self, out: &mut Buffer, track: u64) {
        if track != self.track {
            out.number(event::TRACK_UUID, track);
        }
    }

    #[inline(always)]
    pub(super) fn end(&mut self, out: &mut Buffer, event: Event) {
        out.end(event.content);
        if !self.interned.pending.is_empty() {
            out.field(packet::INTERNED_DATA, self.interned.pending.as_bytes());
            self.interned.pending.clear();
        }
        out.end(event.packet);
    }

    #[inline]
    pub(super) fn category(&mut self, out: &mut Buffer, category: Category) {
        out.number(event::CATEGORY_IIDS, u64::from(self.interned.category(category)));
    }

    /// Names the event with a text of the trace.
    #[inline]
    pub(super) fn name(&mut self, out: &mut Buffer, name: u32) {
        out.number(event::NAME_IID, u64::from(self.interned.name(name)));
    }

    /// An argument that is a number.
    #[inline(always)]
    pub(super) fn uint(&mut self, out: &mut Buffer, key: Key, value: u64) {
        let key = self.interned.key(key);
        // In two stores, since nearly every event has some of these.
        const HEAD: u64 = proto::short_tag(event::DEBUG_ANNOTATIONS, proto::LENGTH)
            | proto::short_tag(annotation::NAME_IID, proto::VARINT) << 16
            | proto::short_tag(annotation::UINT_VALUE, proto::VARINT) << 32;
        let length = 3 + proto::varint_length(value) as u64;
        out.word(HEAD | length << 8 | u64::from(key) << 24, 5);
        out.varint(value);
    }

    /// An argument that is a number and may be negative.
    pub(super) fn int(&mut self, out: &mut Buffer, key: Key, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.uint(out, key, value),
            Err(_) => self.argument(out, key, |out| out.signed(annotation::INT_VALUE, value)),
        }
    }

    pub(super) fn flag(&mut self, out: &mut Buffer, key: Key, value: bool) {
        self.argument(out, key, |out| out.number(annotation::BOOL_VALUE, u64::from(value)));
    }

    /// An argument that is a text, which is written once in the sequence.
    pub(super) fn text(&mut self, out: &mut Buffer, key: Key, value: &str) {
        let text = self.interned.text(value);
        self.known_text(out, key, text);
    }

    /// An argument that is a text which is known by its number.
    #[inline]
    pub(super) fn known_text(&mut self, out: &mut Buffer, key: Key, text: u32) {
        let key = self.interned.key(key);
        let (number, count) = proto::varint_of(text);
        const HEAD: u64 = proto::short_tag(event::DEBUG_ANNOTATIONS, proto::LENGTH)
            | proto::short_tag(annotation::NAME_IID, proto::VARINT) << 16
            | proto::short_varint((annotation::STRING_VALUE_IID << 3) as u64).0 << 32;
        out.word(HEAD | (4 + count as u64) << 8 | u64::from(key) << 24, 6);
        out.word(number, count);
    }

    /// Names the event with a text of this program, where it is not worth a number.
    pub(super) fn fixed_name(&mut self, out: &mut Buffer, name: &str) {
        out.text(event::NAME, name);
    }

    /// An argument with another name: a text that is not shared.
    pub(super) fn other_text(&mut self, out: &mut Buffer, key: &str, value: &str) {
        self.other(out, key, |out, _| out.text(annotation::STRING_VALUE, value));
    }

    /// An argument with another name: the value of a JSON text.
    pub(super) fn other_json(&mut self, out: &mut Buffer, key: &str, json: &str) {
        self.other(out, key, |out, interned| json_value::push_value(out, interned, json));
    }

    /// An argument with another name: a number that may be negative.
    pub(super) fn other_int(&mut self, out: &mut Buffer, key: &str, value: i64) {
        self.other(out, key, |out, _| out.signed(annotation::INT_VALUE, value));
    }

    pub(super) fn double(&mut self, out: &mut Buffer, key: Key, value: f64) {
        self.argument(out, key, |out| out.double(annotation::DOUBLE_VALUE, value));
    }

    /// Arguments for the members of a JSON object, given without its braces. What is not JSON is one that is shown as it is.
    pub(super) fn members(&mut self, out: &mut Buffer, members: &str) {
        let pushed = json_value::push_members(out, &mut self.interned, event::DEBUG_ANNOTATIONS, members);
        if pushed.is_none() {
            self.argument(out, Key::Extra, |out| out.text(annotation::STRING_VALUE, members));
        }
    }

    fn other(&mut self, out: &mut Buffer, key: &str, value: impl FnOnce(&mut Buffer, &mut Interned<'a>)) {
        let key = self.interned.other_key(key);
        let argument = out.begin(event::DEBUG_ANNOTATIONS);
        out.number(annotation::NAME_IID, u64::from(key));
        value(out, &mut self.interned);
        out.end(argument);
    }

    fn argument(&mut self, out: &mut Buffer, key: Key, value: impl FnOnce(&mut Buffer)) {
        let key = self.interned.key(key);
        let argument = out.begin(event::DEBUG_ANNOTATIONS);
        out.number(annotation::NAME_IID, u64::from(key));
        value(out);
        out.end(argument);
    }
}
