//! Callgrind's file, as far as it says how many instructions each function takes itself.

use std::collections::HashMap;

/// The functions and their own instructions, most first.
///
/// The file names a function (`fn=`), then lists its positions with their costs. A call (`calls=`) is followed by a position
/// with the cost of what is called, which is not the function's own. A name comes with a number, and later is the number alone.
pub(crate) fn by_own_cost(file: &str) -> Vec<(&str, u64)> {
    let mut names: HashMap<&str, &str> = HashMap::new();
    let mut costs: HashMap<&str, u64> = HashMap::new();
    let (mut current, mut is_called) = ("", false);
    for line in file.lines() {
        if let Some((key @ ("fn" | "cfn"), function)) = line.split_once('=') {
            let (number, name) = function.split_once(' ').unwrap_or((function, ""));
            let name = if name.is_empty() { names[number] } else { name };
            names.insert(number, name);
            if key == "fn" {
                current = name;
            }
        } else if line.starts_with("calls=") {
            is_called = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let cost = line.rsplit(' ').next().and_then(|cost| cost.parse().ok()).unwrap_or(0);
            if !std::mem::take(&mut is_called) {
                *costs.entry(current).or_default() += cost;
            }
        }
    }
    let mut costs: Vec<_> = costs.into_iter().filter(|&(_, cost)| cost > 0).collect();
    costs.sort_by_key(|&(name, cost)| (std::cmp::Reverse(cost), name));
    costs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_not_a_functions_own() {
        let file = "events: Ir\n\nfl=(1) a.rs\nfn=(1) outer\n10 3\n+1 2\ncfn=(2) inner\ncalls=4 20\n* 40\n* 1\n\n\
                    fn=(2)\n20 40\n\nfn=(1)\n10 1\ntotals: 47\n";
        assert_eq!(by_own_cost(file), [("inner", 40), ("outer", 7)]);
    }
}
