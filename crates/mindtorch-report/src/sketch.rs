//! A small timeline as a picture, for a notebook: the busiest threads and streams, at the resolution of the picture.

use mindtorch_profiler::{SpanKind, Trace, markup_text};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Pixels, each of which shows an equal part of the trace.
const WIDTH: usize = 800;
const LABELS: usize = 150;
const BAR: usize = 9;
const THREADS: usize = 4;
const STREAMS: usize = 4;
/// Levels of nesting that are drawn of a thread.
const DEPTH: usize = 3;

/// One line of bars: which name covers most of each pixel, and how much of the pixel is covered.
#[derive(Default)]
struct Lane {
    pixels: Vec<Pixel>,
    covered_ns: u64,
}

#[derive(Clone, Copy, Default)]
struct Pixel {
    covered: f64,
    longest: f64,
    name: u32,
}

/// What is drawn of a thread or stream.
struct Row {
    label: String,
    lanes: Vec<Lane>,
}

/// The timeline of a trace as an SVG picture: its busiest threads and streams. Empty if nothing was recorded.
///
/// A pixel has the colour of the name that covers most of it, and is as opaque as it is covered.
///
/// ```
/// use mindtorch_profiler::{Session, record_function};
/// let session = Session::start();
/// drop(record_function!("work"));
/// assert!(mindtorch_report::sketch(&session.stop()).contains("<title>work"));
/// ```
pub fn sketch(trace: &Trace) -> String {
    let mut names = Names::default();
    let mut rows = threads(trace, &mut names);
    rows.extend(streams(trace, &mut names));
    if rows.is_empty() { String::new() } else { draw(&rows, trace.duration_ns(), &names) }
}

fn threads<'a>(trace: &'a Trace, names: &mut Names<'a>) -> Vec<Row> {
    let scale = Scale::of(trace);
    // Of each span its level among those that are drawn, so that a span's parent is found before it.
    let mut levels: Vec<u8> = Vec::with_capacity(trace.span_count());
    let mut rows: BTreeMap<u32, Row> = BTreeMap::new();
    for span in trace.spans() {
        let above = span.parent().map_or(0, |parent| levels[parent.row()]);
        if span.kind() == SpanKind::Function {
            levels.push(above);
            continue;
        }
        levels.push(above.saturating_add(1));
        if usize::from(above) < DEPTH {
            let thread = span.thread();
            let row = rows.entry(thread.number).or_insert_with(|| Row {
                label: thread.name.clone().unwrap_or_else(|| format!("thread {}", thread.os_id)),
                lanes: (0..DEPTH).map(|_| Lane::default()).collect(),
            });
            row.lanes[usize::from(above)].add(&scale, span.start_ns(), span.end_ns(), names.id(span.name()));
        }
    }
    busiest(rows.into_values().collect(), THREADS)
}

fn streams<'a>(trace: &'a Trace, names: &mut Names<'a>) -> Vec<Row> {
    let scale = Scale::of(trace);
    let mut rows: BTreeMap<(u16, u32), Row> = BTreeMap::new();
    for work in trace.device_spans() {
        let row = rows.entry((work.device(), work.stream())).or_insert_with(|| Row {
            label: format!("{} {} stream {}", trace.accelerator(), work.device(), work.stream()),
            lanes: vec![Lane::default()],
        });
        row.lanes[0].add(&scale, work.start_ns(), work.end_ns(), names.id(work.name()));
    }
    busiest(rows.into_values().collect(), STREAMS)
}

/// The rows that are covered longest, in the order that they have.
fn busiest(mut rows: Vec<Row>, most: usize) -> Vec<Row> {
    let mut covered: Vec<u64> = rows.iter().map(|row| row.lanes[0].covered_ns).collect();
    covered.sort_unstable_by(|one, other| other.cmp(one));
    let least = covered.get(most.saturating_sub(1)).copied().unwrap_or(0);
    rows.retain(|row| row.lanes[0].covered_ns >= least);
    rows.truncate(most);
    for row in &mut rows {
        row.lanes.retain(|lane| !lane.pixels.is_empty());
    }
    rows
}

impl Lane {
    fn add(&mut self, scale: &Scale, start_ns: u64, end_ns: u64, name: u32) {
        self.pixels.resize(WIDTH, Pixel::default());
        self.covered_ns += end_ns - start_ns;
        let (from, to) = (scale.pixel(start_ns), scale.pixel(end_ns));
        for (at, pixel) in self.pixels.iter_mut().enumerate().take(to as usize + 1).skip(from as usize) {
            let within = (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
            pixel.covered += within;
            if within >= pixel.longest {
                (pixel.longest, pixel.name) = (within, name);
            }
        }
    }
}

/// Where a time is in the picture.
struct Scale {
    per_ns: f64,
}

impl Scale {
    fn of(trace: &Trace) -> Self {
        Self { per_ns: WIDTH as f64 / trace.duration_ns().max(1) as f64 }
    }

    fn pixel(&self, at_ns: u64) -> f64 {
        (at_ns as f64 * self.per_ns).min(WIDTH as f64)
    }
}

/// The names that are drawn.
#[derive(Default)]
struct Names<'a> {
    texts: Vec<&'a str>,
    ids: std::collections::HashMap<&'a str, u32>,
}

impl<'a> Names<'a> {
    fn id(&mut self, name: &'a str) -> u32 {
        *self.ids.entry(name).or_insert_with(|| {
            self.texts.push(name);
            self.texts.len() as u32 - 1
        })
    }
}

fn draw(rows: &[Row], duration_ns: u64, names: &Names<'_>) -> String {
    let lanes: usize = rows.iter().map(|row| row.lanes.len()).sum();
    let height = lanes * BAR + rows.len() * 6 + 16;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {height}\" width=\"{0}\" height=\"{height}\" \
         style=\"max-width:100%;height:auto\" font-family=\"sans-serif\" font-size=\"10\" fill=\"currentColor\" \
         role=\"img\" aria-label=\"timeline\">",
        LABELS + WIDTH
    );
    let mut top = 0;
    for row in rows {
        let _ = write!(svg, "<text x=\"0\" y=\"{}\">", top + BAR);
        svg += &markup_text(&shortened(&row.label));
        svg += "</text>";
        for lane in &row.lanes {
            draw_lane(&mut svg, lane, top, names);
            top += BAR;
        }
        top += 6;
    }
    let end = duration_ns as f64 / 1e6;
    let _ = write!(
        svg,
        "<text x=\"{LABELS}\" y=\"{0}\">0</text><text x=\"{1}\" y=\"{0}\" text-anchor=\"end\">{end:.3} ms</text></svg>",
        height - 3,
        LABELS + WIDTH
    );
    svg
}

/// One rectangle for neighbours that look the same.
fn draw_lane(svg: &mut String, lane: &Lane, top: usize, names: &Names<'_>) {
    let mut at = 0;
    while at < lane.pixels.len() {
        let (name, shade) = (lane.pixels[at].name, shade(&lane.pixels[at]));
        let alike = lane.pixels[at..].iter().take_while(|pixel| pixel.name == name && self::shade(pixel) == shade);
        let width = alike.count();
        if shade > 0 {
            let text = names.texts[name as usize];
            let _ = write!(
                svg,
                "<rect x=\"{}\" y=\"{top}\" width=\"{width}\" height=\"{}\" fill=\"hsl({} 55% 55%)\" opacity=\"{}\"><title>",
                LABELS + at,
                BAR - 1,
                hue(text),
                f64::from(shade) / 4.0
            );
            svg.push_str(&markup_text(text));
            svg.push_str("</title></rect>");
        }
        at += width;
    }
}

/// How much of a pixel is covered, in quarters; whatever is there can be seen.
fn shade(pixel: &Pixel) -> u8 {
    if pixel.covered > 0.0 { (pixel.covered * 4.0).ceil().min(4.0) as u8 } else { 0 }
}

/// A colour that a name always has.
fn hue(name: &str) -> u32 {
    name.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) % 360
}

fn shortened(label: &str) -> String {
    if label.chars().count() <= 24 { label.to_owned() } else { label.chars().take(23).chain(['…']).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(events: &str) -> Trace {
        Trace::read(format!("{{\"traceEvents\": [{events}]}}").as_bytes()).unwrap()
    }

    #[test]
    fn a_span_is_as_wide_as_its_time() {
        let events = r#"
            {"ph": "X", "cat": "cpu_op", "name": "long", "pid": 1, "tid": 1, "ts": 0, "dur": 600},
            {"ph": "X", "cat": "cpu_op", "name": "inner", "pid": 1, "tid": 1, "ts": 0, "dur": 200},
            {"ph": "X", "cat": "cpu_op", "name": "last", "pid": 1, "tid": 1, "ts": 600, "dur": 200}"#;
        let svg = sketch(&trace(events));
        assert!(svg.contains("x=\"150\" y=\"0\" width=\"600\" height=\"8\""), "{svg}");
        assert!(svg.contains("x=\"150\" y=\"9\" width=\"200\" height=\"8\""), "{svg}");
        assert!(svg.contains("x=\"750\" y=\"0\" width=\"200\" height=\"8\""), "{svg}");
        assert!(svg.contains("0.800 ms"), "{svg}");
    }

    #[test]
    fn what_is_too_short_for_a_pixel_is_faint() {
        let events = r#"
            {"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 0.1},
            {"ph": "X", "cat": "cpu_op", "name": "<b>", "pid": 1, "tid": 1, "ts": 799, "dur": 1}"#;
        let svg = sketch(&trace(events));
        assert!(svg.contains("opacity=\"0.25\"><title>a<"), "{svg}");
        assert!(svg.contains("<title>&lt;b&gt;"), "{svg}");
    }

    #[test]
    fn nothing_is_nothing() {
        assert_eq!(sketch(&trace("")), "");
    }
}
