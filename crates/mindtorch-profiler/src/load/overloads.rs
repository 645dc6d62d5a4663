//! Names of operators that have their overload in them.

use super::text::LoadedNames;

/// Splits `aten::add.Tensor`. Neither the name of an operator nor that of an overload has a dot in it, so where there is one
/// dot, behind a namespace, it can be nothing else; any other name is left whole.
#[derive(Debug, Default)]
pub(super) struct Overloads {
    /// By name: the name and overload that it is made of, if it was seen.
    known: Vec<Option<(u32, u32)>>,
}

impl Overloads {
    #[inline]
    pub(super) fn split(&mut self, name: u32, names: &mut LoadedNames) -> (u32, u32) {
        match self.known.get(name as usize) {
            Some(Some(known)) => *known,
            _ => self.look_at(name, names),
        }
    }

    #[cold]
    fn look_at(&mut self, name: u32, names: &mut LoadedNames) -> (u32, u32) {
        let parts = parts(names.get(name)).map(|(name, overload)| (name.to_owned(), overload.to_owned()));
        let split = parts.map_or((name, 0), |(name, overload)| (names.add(&name), names.add(&overload)));
        if self.known.len() <= name as usize {
            self.known.resize(name as usize + 1, None);
        }
        self.known[name as usize] = Some(split);
        split
    }
}

fn parts(name: &str) -> Option<(&str, &str)> {
    let is_word =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let (namespace, operator) = name.split_once("::")?;
    let (operator, overload) = operator.split_once('.')?;
    let is_overload = is_word(namespace) && is_word(operator) && is_word(overload);
    is_overload.then(|| (&name[..namespace.len() + 2 + operator.len()], overload))
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn only_names_of_operators_are_split() {
        assert_eq!(parts("aten::add.Tensor"), Some(("aten::add", "Tensor")));
        assert_eq!(parts("my_ops::scale.out"), Some(("my_ops::scale", "out")));
        for name in ["aten::add", "add.Tensor", "aten::add.", "aten::a.b.c", "autograd::engine::f: X.y", "a b::c.d", ""]
        {
            assert_eq!(parts(name), None, "{name}");
        }
    }
}
