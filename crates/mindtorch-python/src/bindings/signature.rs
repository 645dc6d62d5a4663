//! Signatures of operations, written as torch writes them: `add(Tensor input, Operand other, *, Scalar alpha=1)`. What gives
//! something else than a tensor says so: `chunk(Tensor input, int chunks, int dim=0) -> Tensor[]`.

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Tensor,
    Tensors,
    /// A tensor or a number.
    Operand,
    Scalar,
    Int,
    /// A list of ints, or one int; where it is the last positional one, also as separate arguments.
    Ints,
    /// The same, or a text instead.
    IntsOrText,
    Float,
    Bool,
    Text,
    DType,
    Device,
    Generator,
}

impl Kind {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "Tensor" => Self::Tensor,
            "Tensor[]" => Self::Tensors,
            "Operand" => Self::Operand,
            "Scalar" => Self::Scalar,
            "int" => Self::Int,
            "int[]" | "int[*]" => Self::Ints,
            "int[]|str" => Self::IntsOrText,
            "float" => Self::Float,
            "bool" => Self::Bool,
            "str" => Self::Text,
            "dtype" => Self::DType,
            "device" => Self::Device,
            "Generator" => Self::Generator,
            _ => return None,
        })
    }

    /// As messages name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tensor | Self::Operand => "Tensor",
            Self::Tensors => "tuple of Tensors",
            Self::Scalar => "Number",
            Self::Int => "int",
            Self::Ints | Self::IntsOrText => "tuple of ints",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Text => "str",
            Self::DType => "torch.dtype",
            Self::Device => "torch.device",
            Self::Generator => "torch.Generator",
        }
    }

    /// As type stubs name it.
    fn stub(self) -> &'static str {
        match self {
            Self::Tensor => "Tensor",
            Self::Tensors => "Sequence[Tensor]",
            Self::Operand => "Tensor | Number",
            Self::Scalar => "Number",
            Self::Int => "int",
            Self::Ints => "int | Sequence[int]",
            Self::IntsOrText => "int | Sequence[int] | str",
            Self::Float => "float",
            Self::Bool => "bool",
            Self::Text => "str",
            Self::DType => "dtype",
            Self::Device => "device | str | int",
            Self::Generator => "Generator",
        }
    }
}

/// What a parameter is if it is not given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Default {
    /// It must be given.
    Required,
    None,
    Int(i64),
    Float(f64),
    Bool(bool),
    Text(&'static str),
    /// No ints.
    Empty,
}

/// A parameter.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    /// `None` may be given.
    pub(crate) optional: bool,
    /// Takes all positional ints that are left.
    pub(crate) variadic: bool,
    pub(crate) keyword_only: bool,
    pub(crate) default: Default,
}

/// A signature.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) name: &'static str,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) positional: usize,
    /// What it gives, as type stubs say it.
    pub(crate) returns: &'static str,
}

impl Signature {
    /// Reads a signature. They are constants of this crate: a wrong one is a mistake in it, found by its first import.
    pub(crate) fn parse(text: &'static str) -> Self {
        let (text, returns) = text.split_once(" -> ").unwrap_or((text, "Tensor"));
        let returns = if returns == "Tensor[]" { "tuple[Tensor, ...]" } else { returns };
        let (name, rest) = text.split_once('(').unwrap_or_else(|| panic!("no parameters: {text}"));
        let rest = rest.strip_suffix(')').unwrap_or_else(|| panic!("no end: {text}"));
        let mut keyword_only = false;
        let mut parameters = Vec::new();
        for part in rest.split(", ").filter(|part| !part.is_empty()) {
            if part == "*" {
                keyword_only = true;
                continue;
            }
            let (declaration, default) = part.split_once('=').map_or((part, None), |(left, right)| (left, Some(right)));
            let (kind, name) = declaration.split_once(' ').unwrap_or_else(|| panic!("no name: {part} in {text}"));
            let optional = kind.ends_with('?');
            let kind_text = kind.trim_end_matches('?');
            let kind = Kind::parse(kind_text).unwrap_or_else(|| panic!("no kind: {kind} in {text}"));
            let default = default.map_or(Default::Required, |default| parse_default(default, kind));
            parameters.push(Parameter { name, kind, optional, variadic: kind_text == "int[*]", keyword_only, default });
        }
        let positional = parameters.iter().filter(|parameter| !parameter.keyword_only).count();
        Self { name, parameters, positional, returns }
    }

    /// The signature as Python has it, for `help` and for type stubs.
    pub(crate) fn python(&self, annotated: bool, first: &str) -> String {
        let mut parts = Vec::new();
        let mut marked = false;
        for (index, parameter) in self.parameters.iter().enumerate() {
            if parameter.keyword_only && !marked {
                parts.push("*".to_owned());
                marked = true;
            }
            if index == 0 && !first.is_empty() {
                parts.push(first.to_owned());
                continue;
            }
            let default = match &parameter.default {
                Default::Required => None,
                Default::None => Some("None".to_owned()),
                Default::Int(value) => Some(value.to_string()),
                Default::Float(value) => Some(format!("{value:?}")),
                Default::Bool(value) => Some(if *value { "True" } else { "False" }.to_owned()),
                Default::Text(value) => Some(format!("'{value}'")),
                Default::Empty => Some("()".to_owned()),
            };
            let star = if parameter.variadic && !parameter.keyword_only { "*" } else { "" };
            let mut part = format!("{star}{}", parameter.name);
            if annotated {
                let none = if parameter.optional { " | None" } else { "" };
                part += &format!(": {}{none}", parameter.kind.stub());
                if star.is_empty() && default.is_some() {
                    part += " = ...";
                }
            } else if let Some(default) = default.filter(|_| star.is_empty()) {
                part += &format!("={default}");
            }
            if !star.is_empty() {
                marked = true;
            }
            parts.push(part);
        }
        parts.join(", ")
    }
}

fn parse_default(text: &'static str, kind: Kind) -> Default {
    match text {
        "None" => Default::None,
        "True" => Default::Bool(true),
        "False" => Default::Bool(false),
        "[]" => Default::Empty,
        text if kind == Kind::Text => Default::Text(text.trim_matches('\'')),
        text => match text.parse() {
            Ok(value) if kind != Kind::Float => Default::Int(value),
            _ => Default::Float(text.parse().unwrap_or_else(|_| panic!("no default: {text}"))),
        },
    }
}
