//! The table for a page: a notebook shows it.

use super::Layout;
use crate::markup::markup_text;
use crate::stats::Average;
use std::fmt::Write as _;

/// It takes the page's own colours, so that it can be read in light and dark.
const STYLE: &str = "<style>\
    .mindtorch-table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
    .mindtorch-table th,.mindtorch-table td{padding:2px 8px;text-align:right;white-space:nowrap}\
    .mindtorch-table .left{text-align:left;font-family:monospace}\
    .mindtorch-table thead th{border-bottom:1px solid currentColor}\
    </style>";

pub(super) fn write(layout: &Layout<'_>) -> String {
    let mut html = String::from(STYLE);
    for header in layout.headers() {
        html += "<p>";
        html += &markup_text(header);
        html += "</p>";
    }
    html += "<table class=\"mindtorch-table\"><thead><tr>";
    for (place, column) in layout.columns.iter().enumerate() {
        let _ = write!(html, "<th{}>", class(place == 0 || column.is_left_aligned));
        html += &markup_text(&column.heading);
        html += "</th>";
    }
    html += "</tr></thead><tbody>";
    for row in &layout.rows {
        html += "<tr>";
        push_name(&mut html, row, &(layout.columns[0].cell)(row));
        for column in &layout.columns[1..] {
            let _ = write!(html, "<td{}>", class(column.is_left_aligned));
            html += &markup_text((column.cell)(row).trim());
            if column.is_left_aligned {
                push_deeper_frames(&mut html, row);
            }
            html += "</td>";
        }
        html += "</tr>";
    }
    html += "</tbody></table><pre>";
    html += &markup_text(&layout.footer());
    html += "</pre>";
    html
}

/// The name, cut as in the text, and whole for who points at it.
fn push_name(html: &mut String, row: &Average, shown: &str) {
    html.push_str("<td class=\"left\" title=\"");
    html.push_str(&markup_text(&row.key));
    html.push_str("\">");
    html.push_str(&markup_text(shown));
    html.push_str("</td>");
}

fn push_deeper_frames(html: &mut String, row: &Average) {
    for frame in row.stack.iter().skip(1) {
        html.push_str("<br>");
        html.push_str(&markup_text(&frame.text()));
    }
}

fn class(is_left: bool) -> &'static str {
    if is_left { " class=\"left\"" } else { "" }
}

#[cfg(test)]
mod tests {
    use crate::capture::Capture;
    use crate::stats::{Average, Averages, TableForm, TableOptions};

    #[test]
    fn names_are_text() {
        let row = Average { count: 3, ..Average::new("<script>alert(\"&\")</script>".into()) };
        let averages = Averages::of_rows(vec![row], Capture::NONE, "NPU");
        let html = averages.table(&TableOptions { form: TableForm::Html, ..TableOptions::default() });
        assert!(html.contains("&lt;script&gt;alert(&quot;&amp;&quot;)&lt;/script&gt;"), "{html}");
        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("<td>3</td>") && html.contains("# of Calls"), "{html}");
    }

    #[test]
    fn limits_are_those_of_the_text() {
        let rows = ["a", "b", "c"].map(|key| Average::new(key.into()));
        let averages = Averages::of_rows(rows.into(), Capture::NONE, "NPU");
        let options = TableOptions { form: TableForm::Html, row_limit: Some(2), ..TableOptions::default() };
        let html = averages.table(&options);
        assert_eq!(html.matches("<tr>").count(), 1 + 2);
        assert!(html.contains("Self CPU time total: 0.000us"), "{html}");
    }
}
