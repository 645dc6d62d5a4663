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
use super::proto::{self, Message};
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
}

/// An event that is being written.
pub(super) struct Event {
    packet: Message,
    content: Message,
}

impl<'a> Sequence<'a> {
    pub(super) fn new(trace: &'a Trace) -> Self {
        let (interned, captured) = (Interned::new(&trace.names), Captured::default());
        Self { interned, captured, start_epoch_ns: trace.header.start_epoch_ns, id: 0, track: 0, now: 0 }
    }

    /// Begins the next sequence. Its events are on `track`.
    pub(super) fn start(&mut self, out: &mut Vec<u8>, track: u64) {
        self.interned.clear();
        self.captured.clear();
        self.id += 1;
        self.track = track;
        self.now = 0;
        let first = self.begin_packet(out);
        proto::number(out, packet::SEQUENCE_FLAGS, packet::INCREMENTAL_STATE_CLEARED);
        proto::number(out, packet::FIRST_PACKET_ON_SEQUENCE, 1);
        let snapshot = proto::begin(out, packet::CLOCK_SNAPSHOT);
        for id in [clock::REALTIME, clock::OF_SEQUENCE] {
            let of_clock = proto::begin(out, clock_snapshot::CLOCKS);
            proto::number(out, clock::CLOCK_ID, id);
            proto::number(out, clock::TIMESTAMP, self.start_epoch_ns);
            if id == clock::OF_SEQUENCE {
                proto::number(out, clock::IS_INCREMENTAL, 1);
            }
            proto::end(out, of_clock);
        }
        proto::number(out, clock_snapshot::PRIMARY_TRACE_CLOCK, clock::REALTIME);
        proto::end(out, snapshot);
        let of_packets = proto::begin(out, packet::TRACE_PACKET_DEFAULTS);
        proto::number(out, defaults::TIMESTAMP_CLOCK_ID, clock::OF_SEQUENCE);
        let of_events = proto::begin(out, defaults::TRACK_EVENT_DEFAULTS);
        proto::number(out, defaults::TRACK_UUID, track);
        proto::end(out, of_events);
        proto::end(out, of_packets);
        proto::end(out, first);
    }

    /// Begins a packet that has no time.
    pub(super) fn begin_packet(&self, out: &mut Vec<u8>) -> Message {
        let begun = proto::begin(out, field::PACKET);
        proto::number(out, packet::TRUSTED_PACKET_SEQUENCE_ID, u64::from(self.id));
        begun
    }

    /// Begins an event of a type. An event that lies before the last one begins the next sequence.
    #[inline(always)]
    pub(super) fn begin(&mut self, out: &mut Vec<u8>, of_type: u64, at_ns: u64) -> Event {
        if at_ns < self.now {
            self.start(out, self.track);
        }
        let begun = proto::begin(out, field::PACKET);
        proto::number(out, packet::TIMESTAMP, at_ns - self.now);
        self.now = at_ns;
        proto::number(out, packet::TRUSTED_PACKET_SEQUENCE_ID, u64::from(self.id));
        let content = proto::begin(out, packet::TRACK_EVENT);
        proto::number(out, event::TYPE, of_type);
        Event { packet: begun, content }
    }

    /// Puts the event on a track that is not the sequence's.
    #[inline]
    pub(super) fn on_track(&self, out: &mut Vec<u8>, track: u64) {
        if track != self.track {
            proto::number(out, event::TRACK_UUID, track);
        }
    }

    #[inline(always)]
    pub(super) fn end(&mut self, out: &mut Vec<u8>, event: Event) {
        proto::end(out, event.content);
        if !self.interned.pending.is_empty() {
            proto::bytes(out, packet::INTERNED_DATA, &self.interned.pending);
            self.interned.pending.clear();
        }
        proto::end(out, event.packet);
    }

    #[inline]
    pub(super) fn category(&mut self, out: &mut Vec<u8>, category: Category) {
        proto::number(out, event::CATEGORY_IIDS, u64::from(self.interned.category(category)));
    }

    /// Names the event with a text of the trace.
    #[inline]
    pub(super) fn name(&mut self, out: &mut Vec<u8>, name: u32) {
        proto::number(out, event::NAME_IID, u64::from(self.interned.name(name)));
    }

    /// An argument that is a number.
    #[inline(always)]
    pub(super) fn uint(&mut self, out: &mut Vec<u8>, key: Key, value: u64) {
        let key = self.interned.key(key);
        // In one piece, since nearly every event has some of these: two tags of a byte, the key, and the number.
        let length = 3 + proto::varint_length(value) as u8;
        const HEAD: [u8; 3] = [
            proto::short_tag(event::DEBUG_ANNOTATIONS, proto::LENGTH),
            proto::short_tag(annotation::NAME_IID, proto::VARINT),
            proto::short_tag(annotation::UINT_VALUE, proto::VARINT),
        ];
        out.extend_from_slice(&[HEAD[0], length, HEAD[1], key, HEAD[2]]);
        proto::varint(out, value);
    }

    /// An argument that is a number and may be negative.
    pub(super) fn int(&mut self, out: &mut Vec<u8>, key: Key, value: i64) {
        match u64::try_from(value) {
            Ok(value) => self.uint(out, key, value),
            Err(_) => self.argument(out, key, |out| proto::signed(out, annotation::INT_VALUE, value)),
        }
    }

    pub(super) fn flag(&mut self, out: &mut Vec<u8>, key: Key, value: bool) {
        self.argument(out, key, |out| proto::number(out, annotation::BOOL_VALUE, u64::from(value)));
    }

    /// An argument that is a text, which is written once in the sequence.
    pub(super) fn text(&mut self, out: &mut Vec<u8>, key: Key, value: &str) {
        let text = self.interned.text(value);
        self.known_text(out, key, text);
    }

    /// An argument that is a text which is known by its number.
    pub(super) fn known_text(&mut self, out: &mut Vec<u8>, key: Key, text: u32) {
        self.argument(out, key, |out| proto::number(out, annotation::STRING_VALUE_IID, u64::from(text)));
    }

    /// Names the event with a text of this program, where it is not worth a number.
    pub(super) fn fixed_name(&mut self, out: &mut Vec<u8>, name: &str) {
        proto::text(out, event::NAME, name);
    }

    /// An argument with another name: a text that is not shared.
    pub(super) fn other_text(&mut self, out: &mut Vec<u8>, key: &str, value: &str) {
        self.other(out, key, |out, _| proto::text(out, annotation::STRING_VALUE, value));
    }

    /// An argument with another name: the value of a JSON text.
    pub(super) fn other_json(&mut self, out: &mut Vec<u8>, key: &str, json: &str) {
        self.other(out, key, |out, interned| json_value::push_value(out, interned, json));
    }

    /// Arguments for the members of a JSON object, given without its braces. What is not JSON is one that is shown as it is.
    pub(super) fn members(&mut self, out: &mut Vec<u8>, members: &str) {
        let pushed = json_value::push_members(out, &mut self.interned, event::DEBUG_ANNOTATIONS, members);
        if pushed.is_none() {
            self.argument(out, Key::Extra, |out| proto::text(out, annotation::STRING_VALUE, members));
        }
    }

    fn other(&mut self, out: &mut Vec<u8>, key: &str, value: impl FnOnce(&mut Vec<u8>, &mut Interned<'a>)) {
        let key = self.interned.other_key(key);
        let argument = proto::begin(out, event::DEBUG_ANNOTATIONS);
        proto::number(out, annotation::NAME_IID, u64::from(key));
        value(out, &mut self.interned);
        proto::end(out, argument);
    }

    fn argument(&mut self, out: &mut Vec<u8>, key: Key, value: impl FnOnce(&mut Vec<u8>)) {
        let key = self.interned.key(key);
        let argument = proto::begin(out, event::DEBUG_ANNOTATIONS);
        proto::number(out, annotation::NAME_IID, u64::from(key));
        value(out);
        proto::end(out, argument);
    }
}
