//! The threads of a file, and what it calls them.

use super::cursor::{Kind, Value};
use super::device_work::clamped;
use super::event::Event;
use super::key::Key;
use super::text::{LoadedNames, unescape};
use crate::trace::loaded::{Loose, LooseThread};
use crate::trace::{Merged, RankRow};
use rustc_hash::{FxHashMap, FxHashSet};

/// A process or a thread: a number, or the number of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Place {
    number: i64,
    is_name: bool,
}

/// The threads in the order of their first event, and the labels of processes and threads.
#[derive(Debug, Default)]
pub(super) struct Labels {
    threads: FxHashMap<(Place, Place), u32>,
    /// The keys of `threads`, by number.
    keys: Vec<(Place, Place)>,
    last: Option<((Place, Place), u32)>,
    thread_names: Vec<((Place, Place), u32)>,
    process_names: Vec<(Place, u32)>,
    /// The rank that a process is, or is a device of.
    ranks: FxHashMap<Place, u32>,
    /// Those of them that are devices.
    device_processes: FxHashSet<Place>,
    /// By the number of a device in the trace: its rank, and its number there.
    devices: Vec<(u32, u16)>,
    /// The process that the file calls `CPU`.
    host: Option<Place>,
    accelerator: Option<String>,
    /// What categories let suppose, if nothing says it.
    guessed_accelerator: Option<&'static str>,
}

impl Labels {
    /// The number of the thread that an event is on.
    #[inline]
    pub(super) fn thread(&mut self, event: &Event, text: &[u8], names: &mut LoadedNames) -> u32 {
        let key = (place(&event.process, text, names), place(&event.thread, text, names));
        match self.last {
            Some((last, thread)) if last == key => thread,
            _ => self.find(key),
        }
    }

    #[cold]
    fn find(&mut self, key: (Place, Place)) -> u32 {
        let thread = *self.threads.entry(key).or_insert_with(|| {
            self.keys.push(key);
            self.keys.len() as u32 - 1
        });
        self.last = Some((key, thread));
        thread
    }

    /// Takes an event that names something.
    pub(super) fn add(&mut self, event: &Event, text: &[u8], names: &mut LoadedNames) {
        let process = place(&event.process, text, names);
        let string = |key: Key| event.arg(key).map(|argument| argument.value).filter(Value::is_text);
        if event.name_is(text, b"process_name")
            && let Some(value) = string(Key::NAME)
        {
            self.process_names.push((process, names.of_string(&value, text)));
        } else if event.name_is(text, b"process_rank") {
            let number = |key: Key| event.arg(key).and_then(|argument| argument.value.unsigned(text));
            if let Some(rank) = number(Key::RANK).and_then(|rank| u32::try_from(rank).ok()) {
                self.ranks.insert(process, rank);
                if event.arg(Key::DEVICE).is_some() {
                    self.device_processes.insert(process);
                }
            }
        } else if event.name_is(text, b"process_labels")
            && let Some(value) = string(Key::LABELS)
        {
            let label = value.content(text);
            if label == b"CPU" && self.host.is_none() && !process.is_name {
                self.host = Some(process);
            }
        } else if event.name_is(text, b"thread_name")
            && let Some(value) = string(Key::NAME)
        {
            let thread = place(&event.thread, text, names);
            self.thread_names.push(((process, thread), names.of_string(&value, text)));
        }
    }

    /// The number in the trace of a device that an event names: ranks have devices of the same numbers.
    #[inline]
    pub(super) fn device(&mut self, event: &Event, text: &[u8], names: &mut LoadedNames, device: i64) -> u16 {
        let device = clamped(device);
        if self.ranks.is_empty() { device } else { self.device_of_rank(place(&event.process, text, names), device) }
    }

    fn device_of_rank(&mut self, process: Place, device: u16) -> u16 {
        let Some(&rank) = self.ranks.get(&process) else { return device };
        let known = self.devices.iter().position(|&known| known == (rank, device));
        let number = known.unwrap_or_else(|| {
            self.devices.push((rank, device));
            self.devices.len() - 1
        });
        clamped(number as i64)
    }

    pub(super) fn set_accelerator(&mut self, value: &Value, text: &[u8]) {
        if self.accelerator.is_none() {
            self.accelerator = Some(unescape(value.content(text), value.is_escaped()).into_owned());
        }
    }

    pub(super) fn guess_accelerator(&mut self, name: &'static str) {
        self.guessed_accelerator = Some(name);
    }

    /// Gives the loose trace its threads, process and accelerator.
    pub(super) fn finish(mut self, names: &LoadedNames, loose: &mut Loose) {
        let first = self.keys.first().map(|(process, _)| *process).filter(|process| !process.is_name);
        let host = self.host.or(first).unwrap_or_default();
        loose.pid = u32::try_from(host.number).unwrap_or(0);
        let process_name = self.process_names.iter().find(|(process, _)| *process == host).map(|(_, name)| *name);
        let process_name = process_name.map(|name| names.get(name).to_owned());
        // Files of this profiler name all threads that have events, in their order.
        let labelled = std::mem::take(&mut self.thread_names);
        let mut labels: FxHashMap<(Place, Place), (u32, u32)> = FxHashMap::default();
        for (key, name) in labelled {
            if loose.is_ours && (key.0 == host || self.is_host_of_rank(key.0)) {
                self.find(key);
            }
            let next = labels.len() as u32 + 1;
            labels.entry(key).and_modify(|(_, known)| *known = name).or_insert((next, name));
        }
        let mut taken = FxHashSet::default();
        let thread = |key: &(Place, Place)| {
            let (label, name) = labels.get(key).copied().unwrap_or((0, 0));
            let os_id = if key.1.is_name { 0 } else { key.1.number as u64 };
            let shown = distinct(os_id, key.0, &mut taken);
            let given = Some(names.get(name)).filter(|name| !name.is_empty());
            let name = given.and_then(|given| thread_name(given, os_id, process_name.as_deref()));
            let name = name.or_else(|| key.1.is_name.then(|| names.get(key.1.number as u32).to_owned()));
            LooseThread { os_id: shown, name, rank: self.ranks.get(&key.0).copied(), label }
        };
        loose.threads = self.keys.iter().map(thread).collect();
        loose.origin.merged = self.merged(names);
        loose.origin.process_name = process_name;
        // Files of this profiler say what it is where it did anything.
        let guessed = self.guessed_accelerator.filter(|_| !loose.is_ours).map(str::to_owned);
        loose.origin.accelerator = self.accelerator.or(guessed).filter(|name| name != "NPU");
    }

    /// Whether a process is a rank's own, and not one of its devices.
    fn is_host_of_rank(&self, process: Place) -> bool {
        self.ranks.contains_key(&process) && !self.device_processes.contains(&process)
    }

    /// The ranks, in order.
    fn merged(&mut self, names: &LoadedNames) -> Merged {
        let of_process = |&(process, name): &(Place, u32)| {
            let rank = *self.ranks.get(&process).filter(|_| self.is_host_of_rank(process))?;
            Some(RankRow { rank, name: names.get(name).to_owned() })
        };
        let mut ranks: Vec<RankRow> = self.process_names.iter().filter_map(of_process).collect();
        ranks.sort_by_key(|row| row.rank);
        ranks.dedup_by_key(|row| row.rank);
        Merged { ranks, devices: std::mem::take(&mut self.devices) }
    }
}

/// The number of a thread, or another one if there is such a thread in another process, or it has only a name: a trace knows
/// one process, and threads with one number would become one.
fn distinct(os_id: u64, process: Place, taken: &mut FxHashSet<u64>) -> u64 {
    let of_process = (process.number as u64) << 32 | os_id & u64::from(u32::MAX);
    let mut numbers = std::iter::once(os_id).chain(of_process..u64::MAX).chain(1..);
    numbers.find(|&number| taken.insert(number)).unwrap_or(os_id)
}

/// What a thread is called: torch writes `thread 7 (name)`, with the process for one that has no name of its own.
fn thread_name(given: &str, os_id: u64, process: Option<&str>) -> Option<String> {
    let bare = format!("thread {os_id}");
    let name = match given.strip_prefix(&bare) {
        Some("") => return None,
        Some(rest) => rest.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')')).unwrap_or(given),
        None => given,
    };
    (Some(name) != process).then(|| name.to_owned())
}

#[inline]
fn place(value: &Value, text: &[u8], names: &mut LoadedNames) -> Place {
    match value.kind {
        Kind::Int(number) => Place { number, is_name: false },
        Kind::Text { .. } => Place { number: names.of_string(value, text).into(), is_name: true },
        // The numbers of threads may need all 64 bits.
        _ => Place { number: value.unsigned(text).unwrap_or(0) as i64, is_name: false },
    }
}
