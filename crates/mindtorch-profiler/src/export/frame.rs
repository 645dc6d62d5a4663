//! Source frames. They are recorded as torch writes them, `file(line): function`.

/// The frame's file, line and function. `None` if it has another form.
///
/// A path may have the form of a frame in it, so the last place that fits is the one.
pub fn parts(frame: &str) -> Option<(&str, &str, &str)> {
    frame.rmatch_indices("): ").find_map(|(at, separator)| {
        let (file, line) = frame[..at].rsplit_once('(')?;
        let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| (file, line, &frame[at + separator.len()..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_three_parts() {
        assert_eq!(parts("a/b.py(3): <module>"), Some(("a/b.py", "3", "<module>")));
        assert_eq!(parts("old(1): x/b.py(3): f"), Some(("old(1): x/b.py", "3", "f")));
        assert_eq!(parts("b.py(3): f(x): y"), Some(("b.py", "3", "f(x): y")));
    }

    #[test]
    fn other_texts_have_none() {
        for text in ["", "main", "b.py(x): f", "b.py(): f", "3): f", "nn.Module: Linear"] {
            assert_eq!(parts(text), None, "{text}");
        }
    }
}
