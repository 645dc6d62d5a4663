//! What happened to blocks, as a timeline tells it.

use super::MemoryEvent;
use super::categories::First;
use super::category::{MemoryAction, MemoryCategory};
use super::lives::{Lives, Step, Turn};
use crate::recorder::{Device, MemoryRole};

/// What happened to the blocks of a device.
pub(super) struct Listed {
    pub(super) events: Vec<MemoryEvent>,
    /// Which of all blocks they are, and what each was for at last, in the order of their first events.
    pub(super) blocks: Vec<(u32, MemoryCategory)>,
}

/// A block that has had no event.
const NOT_LISTED: u32 = u32::MAX;

pub(super) fn list(lives: &Lives, first: &[First], device: Device) -> Listed {
    let mut listed = Listed { events: Vec::new(), blocks: Vec::new() };
    let mut versions: Vec<u32> = Vec::new();
    let mut numbers: Vec<u32> = vec![NOT_LISTED; first.len()];
    for &Step { at_ns, block, turn } in &lives.steps {
        let index = block as usize;
        if lives.blocks[index].device != device {
            continue;
        }
        if numbers[index] == NOT_LISTED {
            numbers[index] = listed.blocks.len() as u32;
            listed.blocks.push((block, first[index].category));
            versions.push(0);
        }
        let number = numbers[index] as usize;
        let before = listed.blocks[number].1;
        let (action, after) = match turn {
            Turn::Preexists => (MemoryAction::Preexisting, before),
            Turn::Born => (MemoryAction::Create, before),
            Turn::Dies => (MemoryAction::Destroy, before),
            Turn::Said(role) | Turn::Written(role) => {
                let after = changed(first[index], before, role);
                if after == before && matches!(turn, Turn::Said(_)) {
                    continue;
                }
                (MemoryAction::IncrementVersion, after)
            }
        };
        listed.events.push(MemoryEvent {
            at_ns,
            action,
            block: number as u32,
            version: versions[number],
            before,
            after,
        });
        if action == MemoryAction::IncrementVersion {
            versions[number] += 1;
            listed.blocks[number].1 = after;
        }
    }
    listed
}

fn changed(first: First, before: MemoryCategory, role: MemoryRole) -> MemoryCategory {
    if first.is_temporary || role == MemoryRole::Unknown || (first.is_lasting && !role.is_lasting()) {
        before
    } else {
        role.into()
    }
}
