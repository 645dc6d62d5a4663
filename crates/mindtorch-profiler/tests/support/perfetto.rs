//! A trace in Perfetto's format read back: what a viewer makes of the packets.
//!
//! Fields are known by the numbers in Perfetto's `perfetto_trace.proto`, and events are put together as its trace processor
//! does: each sequence has its clock, its defaults and its tables; events are sorted by time, those of one time in the order
//! of the file; on a track, an end closes what began last.

use super::protobuf::Message;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) tracks: HashMap<u64, Track>,
    pub(crate) slices: Vec<Slice>,
    pub(crate) instants: Vec<Slice>,
    /// Track, time and value.
    pub(crate) counters: Vec<(u64, u64, f64)>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Track {
    pub(crate) name: String,
    pub(crate) parent: Option<u64>,
    pub(crate) pid: Option<u64>,
    pub(crate) tid: Option<u64>,
    pub(crate) is_counter: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Slice {
    pub(crate) track: u64,
    pub(crate) name: String,
    pub(crate) category: String,
    /// In nanoseconds since the epoch.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// Place in `slices`.
    pub(crate) parent: Option<usize>,
    pub(crate) args: Map<String, Value>,
    pub(crate) flows_out: Vec<u64>,
    pub(crate) flows_in: Vec<u64>,
}

/// The state of a sequence of packets.
#[derive(Default)]
struct Sequence {
    clock: u64,
    track: u64,
    categories: HashMap<u64, String>,
    names: HashMap<u64, String>,
    keys: HashMap<u64, String>,
    texts: HashMap<u64, String>,
}

struct Event<'a> {
    at: u64,
    track: u64,
    kind: u64,
    fields: Message<'a>,
    name: String,
    category: String,
    args: Map<String, Value>,
}

impl File {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let mut file = Self::default();
        let mut sequences: HashMap<u64, Sequence> = HashMap::new();
        let mut events = Vec::new();
        for packet in Message::read(bytes).messages(1) {
            let id = packet.number(10).expect("every packet is part of a sequence");
            if packet.number(13) == Some(1) {
                sequences.insert(id, Sequence::default());
            }
            let sequence = sequences.get_mut(&id).expect("a sequence begins by clearing its state");
            sequence.learn(&packet);
            if let Some(track) = packet.message(60) {
                let uuid = track.number(1).unwrap();
                assert!(file.tracks.insert(uuid, Track::read(&track)).is_none(), "track {uuid} is there twice");
            }
            if let Some(fields) = packet.message(11) {
                sequence.clock += packet.number(8).expect("events have times");
                events.push(sequence.event(fields));
            }
        }
        events.sort_by_key(|event| event.at);
        file.put_together(events);
        file
    }

    fn put_together(&mut self, events: Vec<Event<'_>>) {
        let mut open: HashMap<u64, Vec<usize>> = HashMap::new();
        for event in events {
            assert!(self.tracks.contains_key(&event.track), "track {} is nowhere described", event.track);
            assert_eq!(self.tracks[&event.track].is_counter, event.kind == 4);
            let on_track = open.entry(event.track).or_default();
            match event.kind {
                1 => {
                    let parent = on_track.last().copied();
                    on_track.push(self.slices.len());
                    self.slices.push(event.slice(parent));
                }
                2 => {
                    let ended = on_track.pop().expect("what ends has begun");
                    self.slices[ended].end = event.at;
                }
                3 => self.instants.push(event.slice(on_track.last().copied())),
                4 => {
                    let exact = event.fields.number(30).map(|value| value as i64 as f64);
                    let value = exact.or(event.fields.number(44).map(f64::from_bits));
                    self.counters.push((event.track, event.at, value.unwrap()));
                }
                kind => panic!("an event of type {kind}"),
            }
        }
        assert!(open.values().all(Vec::is_empty), "something never ends");
    }

    /// The track and those that it is part of, the innermost first.
    pub(crate) fn path(&self, track: u64) -> Vec<&Track> {
        let mut path = vec![&self.tracks[&track]];
        while let Some(parent) = path.last().unwrap().parent {
            path.push(&self.tracks[&parent]);
        }
        path
    }

    pub(crate) fn slice(&self, name: &str) -> &Slice {
        self.slices.iter().find(|slice| slice.name == name).unwrap_or_else(|| panic!("there is no {name}"))
    }
}

impl Track {
    fn read(track: &Message<'_>) -> Self {
        let (process, thread) = (track.message(3), track.message(4));
        let name_of = |message: &Option<Message<'_>>, field| message.as_ref().and_then(|message| message.text(field));
        Self {
            name: name_of(&thread, 5).or(name_of(&process, 6)).or(track.text(2)).unwrap_or_default(),
            parent: track.number(5),
            pid: thread.as_ref().or(process.as_ref()).and_then(|message| message.number(1)),
            tid: thread.as_ref().and_then(|thread| thread.number(2)),
            is_counter: track.has(8),
        }
    }
}

impl Sequence {
    fn learn(&mut self, packet: &Message<'_>) {
        if let Some(snapshot) = packet.message(6) {
            let clocks: HashMap<_, _> = snapshot.messages(1).into_iter().map(|one| (one.number(1), one)).collect();
            let (epoch, own) = (&clocks[&Some(1)], &clocks[&Some(64)]);
            assert_eq!((epoch.number(2), own.number(3), snapshot.number(2)), (own.number(2), Some(1), Some(1)));
            self.clock = own.number(2).unwrap();
        }
        if let Some(defaults) = packet.message(59) {
            assert_eq!(defaults.number(58), Some(64));
            self.track = defaults.message(11).unwrap().number(11).unwrap();
        }
        if let Some(interned) = packet.message(12) {
            let tables = [(1, &mut self.categories), (2, &mut self.names), (3, &mut self.keys), (29, &mut self.texts)];
            for (field, table) in tables {
                for entry in interned.messages(field) {
                    let known = table.insert(entry.number(1).unwrap(), entry.text(2).unwrap());
                    assert_eq!(known, None, "a number has two texts");
                }
            }
        }
    }

    fn event<'a>(&self, fields: Message<'a>) -> Event<'a> {
        let name = fields.number(10).map(|name| self.names[&name].clone()).or(fields.text(23));
        let category = fields.number(3).map(|category| self.categories[&category].clone());
        let arguments = fields.messages(4);
        let mut args = Map::new();
        for argument in &arguments {
            let known = args.insert(self.key(argument), self.value(argument));
            assert_eq!(known, None, "an argument is there twice");
        }
        Event {
            at: self.clock,
            track: fields.number(11).unwrap_or(self.track),
            kind: fields.number(9).unwrap(),
            name: name.unwrap_or_default(),
            category: category.unwrap_or_default(),
            args,
            fields,
        }
    }

    fn key(&self, argument: &Message<'_>) -> String {
        self.keys[&argument.number(1).unwrap()].clone()
    }

    fn value(&self, argument: &Message<'_>) -> Value {
        if argument.has(11) {
            return argument.messages(11).iter().map(|entry| (self.key(entry), self.value(entry))).collect();
        }
        if argument.has(12) {
            return argument.messages(12).iter().map(|item| self.value(item)).collect();
        }
        let value = argument.number(2).map(|flag| json!(flag != 0));
        let value = value.or(argument.number(3).map(|number| json!(number)));
        let value = value.or(argument.number(4).map(|number| json!(number as i64)));
        let value = value.or(argument.number(5).map(|bits| json!(f64::from_bits(bits))));
        let value = value.or(argument.text(6).map(|text| json!(text)));
        value.or(argument.number(17).map(|text| json!(self.texts[&text]))).expect("an argument has a value")
    }
}

impl Event<'_> {
    fn slice(self, parent: Option<usize>) -> Slice {
        let (flows_out, flows_in) = (self.fields.numbers(47), self.fields.numbers(48));
        let (track, start, end) = (self.track, self.at, self.at);
        Slice {
            track,
            name: self.name,
            category: self.category,
            start,
            end,
            parent,
            args: self.args,
            flows_out,
            flows_in,
        }
    }
}
