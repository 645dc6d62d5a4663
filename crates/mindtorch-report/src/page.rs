//! The file: `page/page.html` with the style, the data and the script in it.
//!
//! The data are elements that browsers do not run, each with base64 of what was deflated without a header: `contents`, which is
//! JSON, and columns, which say how many numbers they have and in how many planes of bytes those are. Names of a trace
//! are nowhere but in `contents`, so nothing in them can be taken for HTML.

use crate::base64;
use crate::contents::Contents;
use crate::pack::{PackedColumn, deflate};
use mindtorch_profiler::markup_text;
use std::io::{self, Write};

/// The page, with places for the title, the style, the data and the script, in this order.
const TEMPLATE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// Modules, each after those that it imports from.
const SCRIPTS: &[(&str, &str)] = &[
    ("text", include_str!("page/text.js")),
    ("dom", include_str!("page/dom.js")),
    ("theme", include_str!("page/theme.js")),
    ("data", include_str!("page/data.js")),
    ("counters", include_str!("page/counters.js")),
    ("model", include_str!("page/model.js")),
    ("state", include_str!("page/state.js")),
    ("sums", include_str!("page/sums.js")),
    ("layout", include_str!("page/layout.js")),
    ("ruler", include_str!("page/ruler.js")),
    ("painter", include_str!("page/painter.js")),
    ("lines", include_str!("page/lines.js")),
    ("links", include_str!("page/links.js")),
    ("tip", include_str!("page/tip.js")),
    ("gestures", include_str!("page/gestures.js")),
    ("timeline", include_str!("page/timeline.js")),
    ("overview", include_str!("page/overview.js")),
    ("search", include_str!("page/search.js")),
    ("name_table", include_str!("page/name_table.js")),
    ("table", include_str!("page/table.js")),
    ("flame", include_str!("page/flame.js")),
    ("memory", include_str!("page/memory.js")),
    ("steps", include_str!("page/steps.js")),
    ("findings", include_str!("page/findings.js")),
    ("totals", include_str!("page/totals.js")),
    ("verdicts", include_str!("page/verdicts.js")),
    ("diff", include_str!("page/diff.js")),
    ("details", include_str!("page/details.js")),
    ("tabs", include_str!("page/tabs.js")),
    ("main", include_str!("page/main.js")),
];

pub(crate) fn write(contents: &Contents, columns: &[(&str, PackedColumn)], out: &mut dyn Write) -> io::Result<()> {
    let mut rest = TEMPLATE;
    let mut up_to = |mark: &str| {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        rest = after;
        before
    };
    out.write_all(up_to("{{title}}").as_bytes())?;
    out.write_all(markup_text(&contents.title).as_bytes())?;
    out.write_all(up_to("{{style}}").as_bytes())?;
    out.write_all(STYLE.as_bytes())?;
    out.write_all(up_to("{{data}}").as_bytes())?;
    let json = serde_json::to_vec(contents)?;
    let json = base64::encode(&deflate(std::iter::once(&json[..])));
    writeln!(out, "<script type=\"text/plain\" id=\"contents\">{json}</script>")?;
    for (name, column) in columns {
        write_column(name, column, out)?;
    }
    for (number, level) in contents.levels.iter().enumerate() {
        write_column(&format!("level-{number}-counts"), &level.counts, out)?;
        write_column(&format!("level-{number}-tops"), &level.tops, out)?;
    }
    out.write_all(up_to("{{script}}").as_bytes())?;
    out.write_all(b"const modules = {};\n")?;
    for (name, source) in SCRIPTS {
        write_module(name, source, out)?;
    }
    out.write_all(up_to("{{end}}").as_bytes())?;
    out.flush()
}

fn write_column(name: &str, column: &PackedColumn, out: &mut dyn Write) -> io::Result<()> {
    let PackedColumn { count, planes, bytes } = column;
    let text = base64::encode(bytes);
    writeln!(
        out,
        "<script type=\"text/plain\" id=\"column-{name}\" data-count=\"{count}\" data-planes=\"{planes}\">{text}</script>"
    )
}

/// Writes a module as a function that returns what it exports, so that it keeps its other names to itself.
fn write_module(name: &str, source: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut exports = Vec::new();
    writeln!(out, "modules.{name} = (() => {{")?;
    for line in source.lines() {
        if let Some((names, from)) = imported(line) {
            writeln!(out, "const {names} = modules.{from};")?;
        } else if let Some(declaration) = line.strip_prefix("export ") {
            exports.extend(declared(declaration));
            writeln!(out, "{declaration}")?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    writeln!(out, "return {{ {} }};\n}})();", exports.join(", "))
}

/// What a line imports and from which module: `import { a, b } from "./text.js";`.
fn imported(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("import ")?.strip_suffix(".js\";")?.split_once(" from \"./")
}

/// The name that a line declares: that of a function, a class or a constant.
fn declared(declaration: &str) -> Option<&str> {
    let is_before = |word: &&str| !["async", "function", "class", "const"].contains(word);
    let names = |letter: char| letter.is_alphanumeric() || letter == '_';
    declaration.split(|letter| !names(letter)).find(|word| !word.is_empty() && is_before(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_keep_what_they_do_not_export_to_themselves() {
        let source = "import { a } from \"./text.js\";\nconst hidden = a;\nexport async function load() {\n}\nexport const X = 1;\n";
        let mut written = Vec::new();
        write_module("data", source, &mut written).unwrap();
        let expected = "modules.data = (() => {\nconst { a } = modules.text;\nconst hidden = a;\nasync function load() {\n}\n\
                        const X = 1;\nreturn { load, X };\n})();\n";
        assert_eq!(String::from_utf8(written).unwrap(), expected);
    }

    #[test]
    fn modules_come_after_those_that_they_import_from() {
        for (at, (name, source)) in SCRIPTS.iter().enumerate() {
            for line in source.lines().filter(|line| line.starts_with("import ")) {
                let (_, from) = imported(line).unwrap_or_else(|| panic!("{name}.js imports in another form: {line}"));
                assert!(SCRIPTS[..at].iter().any(|(before, _)| *before == from), "{name}.js comes before {from}.js");
            }
            assert!(!source.contains("</script"), "{name}.js would end the element that it is in");
        }
    }
}
