//! The report page: one self-contained HTML file that shows where the time and the memory of a trace went.
//!
//! [`Report`] packs traces into columns (`pack/`), works out what to draw at each zoom, and puts both into a page with the
//! script that shows them (`page/`). The page asks for nothing over a network, and says so to the browser. [`sketch`] is a
//! small picture for where there is no room for a page.

mod base64;
mod contents;
mod difference;
mod pack;
mod page;
mod report;
mod sketch;

pub use report::Report;
pub use sketch::sketch;
