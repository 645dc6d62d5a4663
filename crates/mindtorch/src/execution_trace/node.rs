//! The node: one thing that happened, and its text.

use super::json::push_text;
use super::values::Values;
use std::fmt::Write;

/// What kind of node it is, by torch's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Function = 0,
    Backward = 1,
    User = 7,
}

#[derive(Debug)]
pub(super) struct Node {
    pub(super) id: u64,
    /// The node that it is part of.
    pub(super) parent: u64,
    pub(super) name: String,
    pub(super) inputs: Values,
    pub(super) outputs: Values,
    /// The number that it has in profiler traces.
    pub(super) record_function: u32,
    /// For a backward node: what was under way on the thread of its forward operation.
    pub(super) forward_parent: u64,
    pub(super) forward_thread: u32,
    pub(super) sequence: Option<u64>,
    pub(super) scope: Scope,
    pub(super) thread: u32,
    pub(super) schema: &'static str,
}

impl Node {
    /// A node of nothing in particular.
    pub(super) fn new(id: u64, parent: u64, name: String, scope: Scope, thread: u32) -> Self {
        Self {
            id,
            parent,
            name,
            inputs: Values::default(),
            outputs: Values::default(),
            record_function: 0,
            forward_parent: 0,
            forward_thread: 0,
            sequence: None,
            scope,
            thread,
            schema: "",
        }
    }

    /// The process, which is part of itself: tools know it by that.
    pub(super) fn process() -> Self {
        Self::new(1, 1, "[pytorch|profiler|execution_trace|process]".to_owned(), Scope::User, 0)
    }

    pub(super) fn thread(id: u64, thread: u32) -> Self {
        Self::new(id, 1, "[pytorch|profiler|execution_trace|thread]".to_owned(), Scope::User, thread)
    }

    /// Appends the node as a JSON object.
    pub(super) fn write(&self, out: &mut String) {
        write!(out, "      {{\n        \"id\": {}, \"name\": ", self.id).expect("a string takes everything");
        push_text(out, &self.name);
        write!(out, ", \"ctrl_deps\": {},\n        \"inputs\": ", self.parent).expect("a string takes everything");
        self.inputs.write(out);
        out.push_str(",\n        \"outputs\": ");
        self.outputs.write(out);
        out.push_str(",\n        \"attrs\": [");
        self.write_attributes(out);
        out.push_str("]\n      }");
    }

    fn write_attributes(&self, out: &mut String) {
        let sequence = self.sequence.map_or(-1, u64::cast_signed);
        let mut attribute = |name: &str, kind: &str, value: &str| {
            let comma = if out.ends_with('[') { "" } else { "," };
            write!(out, r#"{comma}{{"name": "{name}", "type": "{kind}", "value": {value}}}"#)
                .expect("a string takes everything");
        };
        attribute("rf_id", "uint64", &self.record_function.to_string());
        attribute("fw_parent", "uint64", &self.forward_parent.to_string());
        attribute("seq_id", "int64", &sequence.to_string());
        attribute("scope", "uint64", &(self.scope as u8).to_string());
        attribute("tid", "uint64", &self.thread.to_string());
        attribute("fw_tid", "uint64", &self.forward_thread.to_string());
        let mut schema = String::new();
        push_text(&mut schema, self.schema);
        attribute("op_schema", "string", &schema);
        for name in ["kernel_backend", "kernel_file", "tensor_range"] {
            attribute(name, "string", "\"\"");
        }
    }
}
