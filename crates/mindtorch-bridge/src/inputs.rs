//! An operator's inputs, from the shim's words.

use mindtorch_profiler::{Inputs, InputsEncoder, Name};
use std::sync::OnceLock;

/// What an input is, in the lowest byte of its first word. The next byte is the type of its elements, and the rest is how many
/// dimensions or items there are.
pub(crate) const TENSOR: u64 = 0;
pub(crate) const UNSTRIDED: u64 = 1;
const LIST: u64 = 2;
pub(crate) const INT: u64 = 4;
const FLOAT: u64 = 5;
const BOOL: u64 = 6;
pub(crate) const INTS: u64 = 7;
const FLOATS: u64 = 8;
const BOOLS: u64 = 9;
/// Its bytes, of which the count says how many, are in the words that follow.
const TEXT: u64 = 10;
/// A text that the next input has for a keyword. These come last.
const KEYWORD: u64 = 11;

/// The first word of an input.
pub(crate) const fn first_word(kind: u64, dtype: u64, count: u64) -> u64 {
    kind | dtype << 8 | count << 16
}

static TYPES: OnceLock<Vec<Name>> = OnceLock::new();

/// Says what types of elements are called, by number.
pub(crate) fn set_types(names: &[String]) {
    TYPES.get_or_init(|| names.iter().map(|name| Name::new(name)).collect());
}

/// Names that many inputs need, looked up once.
struct Names {
    scalar: Name,
    list: Name,
    string: Name,
    bools: [Name; 2],
}

fn names() -> &'static Names {
    static NAMES: OnceLock<Names> = OnceLock::new();
    NAMES.get_or_init(|| Names {
        scalar: Name::new("Scalar"),
        list: Name::new("ScalarList"),
        string: Name::new("String"),
        bools: ["False", "True"].map(Name::new),
    })
}

/// Interns the inputs. Words that end too early end the last input.
pub(crate) fn encode(words: &[u64]) -> Inputs {
    let mut encoder = Inputs::encode();
    let mut rest = words;
    while let Some((&first, after)) = rest.split_first() {
        rest = encode_one(&mut encoder, first, after);
    }
    encoder.finish()
}

/// The inputs without keywords, each with its kind and the words of its sizes or items. The tensors of a list are not inputs
/// themselves.
pub(crate) fn walk(words: &[u64]) -> impl Iterator<Item = (u64, &[u64])> {
    let mut rest = words;
    std::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        let (kind, count) = (first & 0xff, (first >> 16) as usize);
        let (items, length) = match kind {
            KEYWORD => return None,
            TENSOR => (count, 2 * count),
            UNSTRIDED | INTS | FLOATS | BOOLS => (count, count),
            INT | FLOAT | BOOL => (1, 1),
            _ => (0, 0),
        };
        let items = after.get(..items)?;
        rest = after.get(length..)?;
        if kind == LIST {
            (0..count).try_for_each(|_| skip(&mut rest))?;
        }
        Some((kind, items))
    })
}

/// Goes over a tensor of a list.
fn skip(rest: &mut &[u64]) -> Option<()> {
    let (&first, after) = rest.split_first()?;
    let count = (first >> 16) as usize;
    *rest = after.get(if first & 0xff == TENSOR { 2 * count } else { count }..)?;
    Some(())
}

/// Encodes an input, and gives what comes after it.
#[inline]
fn encode_one<'a>(encoder: &mut InputsEncoder, first: u64, after: &'a [u64]) -> &'a [u64] {
    let (kind, dtype, count) = (first & 0xff, (first >> 8 & 0xff) as usize, (first >> 16) as usize);
    let take = |items: usize| after.split_at_checked(items).unwrap_or((after, &[]));
    match kind {
        TENSOR | UNSTRIDED => {
            let dtype = TYPES.get().and_then(|types| types.get(dtype)).copied().unwrap_or(Name::EMPTY);
            let (sizes, after) = take(count);
            let (strides, after) =
                if kind == TENSOR { after.split_at_checked(count).unwrap_or_default() } else { (&[][..], after) };
            encoder.tensor_of_words(dtype, sizes, strides);
            after
        }
        LIST => {
            encoder.list_of(count);
            after
        }
        INT | FLOAT | BOOL => {
            let names = names();
            let (value, after) = take(1);
            let word = value.first().copied().unwrap_or(0);
            match kind {
                FLOAT => _ = encoder.float_of(names.scalar, f64::from_bits(word)),
                BOOL => _ = encoder.value_of(names.scalar, names.bools[usize::from(word != 0)]),
                _ => _ = encoder.int_of(names.scalar, word.cast_signed()),
            }
            after
        }
        INTS | FLOATS | BOOLS => {
            let (items, after) = take(count);
            encode_list(encoder, kind, items);
            after
        }
        TEXT | KEYWORD => {
            let (words, after) = take(count.div_ceil(size_of::<u64>()));
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).take(count).collect();
            let text = Name::new(&String::from_utf8_lossy(&bytes));
            if kind == KEYWORD {
                encoder.keyword(text)
            } else {
                encoder.value_of(names().string, text)
            };
            after
        }
        _ => {
            encoder.value_of(Name::EMPTY, Name::EMPTY);
            after
        }
    }
}

fn encode_list(encoder: &mut InputsEncoder, kind: u64, items: &[u64]) {
    let names = names();
    if kind == INTS {
        encoder.ints_of(names.list, items.iter().map(|item| item.cast_signed()));
        return;
    }
    let text = |&item: &u64| {
        if kind == BOOLS {
            if item == 0 { "False".to_owned() } else { "True".to_owned() }
        } else {
            mindtorch_profiler::float_text(f64::from_bits(item))
        }
    };
    let texts: Vec<String> = items.iter().map(text).collect();
    encoder.value_of(names.list, Name::new(&format!("[{}]", texts.join(", "))));
}
