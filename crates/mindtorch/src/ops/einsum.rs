//! Sums of products, written with letters.

use super::{bmm, mul, permute, reshape, sum};
use crate::Tensor;
use crate::dispatch::{Arg, Op};
use crate::error::{Result, bail, ensure};

/// A subscript: a letter, or a dimension that `...` stands for, counted from the last.
type Label = char;

/// The labels for dimensions of an ellipsis, outside of what can be written.
fn ellipsis_label(from_end: usize) -> Label {
    char::from_u32(0xE000 + from_end as u32).unwrap_or('\u{E000}')
}

/// One tensor and the labels of its dimensions.
struct Factor {
    tensor: Tensor,
    labels: Vec<Label>,
}

fn labels_of(text: &str, ndim: usize, operand: usize) -> Result<Vec<Label>> {
    let mut labels = Vec::new();
    let named = text.chars().filter(|label| label.is_ascii_alphabetic()).count();
    let mut rest = text;
    while let Some(label) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            let hidden = ndim.checked_sub(named);
            let Some(hidden) = hidden else {
                bail!(
                    Runtime,
                    "einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions ({ndim}) for operand {operand} and no ellipsis was given"
                )
            };
            labels.extend((0..hidden).rev().map(ellipsis_label));
            rest = after;
            continue;
        }
        ensure!(
            label.is_ascii_alphabetic(),
            Runtime,
            "einsum(): invalid subscript given at index 0 in the equation string, subscripts must be in [a-zA-Z]; got '{label}'"
        );
        labels.push(label);
        rest = &rest[label.len_utf8()..];
    }
    ensure!(
        labels.len() == ndim,
        Runtime,
        "einsum(): the number of subscripts in the equation ({}) does not match the number of dimensions ({ndim}) for operand \
         {operand} and no ellipsis was given",
        labels.len()
    );
    Ok(labels)
}

/// The sum of products that an equation such as `bij,bjk->bik` says.
///
/// # Errors
/// If the equation does not fit the tensors.
pub fn einsum(equation: &str, operands: &[Tensor]) -> Result<Tensor> {
    static OP: Op = Op::new("aten::einsum", "");
    OP.compose(&[Arg::Tensors(operands)], || contract(equation, operands))
}

fn contract(equation: &str, operands: &[Tensor]) -> Result<Tensor> {
    ensure!(!operands.is_empty(), Runtime, "einsum(): must provide at least one operand");
    let text: String = equation.chars().filter(|label| !label.is_whitespace()).collect();
    let (inputs, output) = text.split_once("->").map_or((text.as_str(), None), |(left, right)| (left, Some(right)));
    let terms: Vec<&str> = inputs.split(',').collect();
    ensure!(
        terms.len() == operands.len(),
        Runtime,
        "einsum(): {} operands were provided than specified in the equation",
        if terms.len() > operands.len() { "fewer" } else { "more" }
    );
    let mut factors = Vec::new();
    let mut written = Vec::new();
    for (index, (term, tensor)) in terms.iter().zip(operands).enumerate() {
        let labels = labels_of(term, tensor.ndim(), index)?;
        written.extend(labels.iter().copied());
        factors.push(diagonals(Factor { tensor: tensor.clone(), labels })?);
    }
    let output = output_labels(output, &written)?;
    check_sizes(&factors)?;
    let mut factors = factors.into_iter();
    let Some(mut result) = factors.next() else { bail!(Runtime, "einsum(): must provide at least one operand") };
    let mut rest: Vec<Factor> = factors.collect();
    while !rest.is_empty() {
        let next = rest.remove(0);
        let needed = |label: Label| output.contains(&label) || rest.iter().any(|factor| factor.labels.contains(&label));
        result = pair(result, next, needed)?;
    }
    finish(result, &output)
}

/// What a term without an arrow gives: letters that occur once, in order, behind what the ellipsis stands for.
fn output_labels(output: Option<&str>, all: &[Label]) -> Result<Vec<Label>> {
    let mut hidden: Vec<Label> = all.iter().copied().filter(|label| *label >= '\u{E000}').collect();
    hidden.sort_unstable_by(|a, b| b.cmp(a));
    hidden.dedup();
    let Some(text) = output else {
        let mut letters: Vec<Label> = all.iter().copied().filter(|label| label.is_ascii_alphabetic()).collect();
        letters.retain(|label| all.iter().filter(|other| *other == label).count() == 1);
        letters.sort_unstable();
        return Ok(hidden.into_iter().chain(letters).collect());
    };
    let mut labels = Vec::new();
    let mut rest = text;
    while let Some(label) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("...") {
            labels.extend(&hidden);
            rest = after;
            continue;
        }
        ensure!(
            all.contains(&label),
            Runtime,
            "einsum(): output subscript {label} does not appear in the equation for any input operand"
        );
        ensure!(
            !labels.contains(&label),
            Runtime,
            "einsum(): output subscript {label} appears more than once in the output"
        );
        labels.push(label);
        rest = &rest[label.len_utf8()..];
    }
    Ok(labels)
}

fn check_sizes(factors: &[Factor]) -> Result<()> {
    let mut sizes: Vec<(Label, usize)> = Vec::new();
    for (operand, factor) in factors.iter().enumerate() {
        for (&label, &size) in factor.labels.iter().zip(factor.tensor.shape()) {
            match sizes.iter_mut().find(|(known, _)| *known == label) {
                None => sizes.push((label, size)),
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) => ensure!(
                    *known == size || size == 1,
                    Runtime,
                    "einsum(): subscript {label} has size {size} for operand {operand} which does not broadcast with previously seen size {known}"
                ),
            }
        }
    }
    Ok(())
}

/// A letter that a term has twice stands for a diagonal.
fn diagonals(factor: Factor) -> Result<Factor> {
    let Factor { mut tensor, mut labels } = factor;
    let mut dim = 0;
    while dim < labels.len() {
        let Some(other) = (dim + 1..labels.len()).find(|&other| labels[other] == labels[dim]) else {
            dim += 1;
            continue;
        };
        tensor = super::diagonal(&tensor, 0, dim as i64, other as i64)?;
        let label = labels.remove(other);
        labels.remove(dim);
        labels.push(label);
    }
    Ok(Factor { tensor, labels })
}

/// The product of two factors, summed over what nobody needs any more.
fn pair(a: Factor, b: Factor, needed: impl Fn(Label) -> bool) -> Result<Factor> {
    let a = summed(a, |label| needed(label) || b.labels.contains(&label))?;
    let b = summed(b, |label| needed(label) || a.labels.contains(&label))?;
    let both = |label: &&Label| b.labels.contains(label);
    let batch: Vec<Label> = a.labels.iter().filter(both).filter(|label| needed(**label)).copied().collect();
    let gone: Vec<Label> = a.labels.iter().filter(both).filter(|label| !needed(**label)).copied().collect();
    let only_a: Vec<Label> = a.labels.iter().filter(|label| !b.labels.contains(label)).copied().collect();
    let only_b: Vec<Label> = b.labels.iter().filter(|label| !a.labels.contains(label)).copied().collect();
    let size = |label: Label| {
        let of =
            |factor: &Factor| factor.labels.iter().position(|own| *own == label).map(|dim| factor.tensor.shape()[dim]);
        of(&a).into_iter().chain(of(&b)).max().unwrap_or(1) as i64
    };
    let sizes = |labels: &[Label]| labels.iter().map(|&label| size(label)).collect::<Vec<i64>>();
    let total = |labels: &[Label]| sizes(labels).iter().product::<i64>();
    // As products of matrices: [batch, only_a, gone] @ [batch, gone, only_b].
    let left = arranged(&a, &[&batch[..], &only_a, &gone].concat(), size)?;
    let right = arranged(&b, &[&batch[..], &gone, &only_b].concat(), size)?;
    let left = reshape(&left, &[total(&batch), total(&only_a), total(&gone)])?;
    let right = reshape(&right, &[total(&batch), total(&gone), total(&only_b)])?;
    let product = if gone.is_empty() { mul(&left, &right)? } else { bmm(&left, &right)? };
    let labels = [batch, only_a, only_b].concat();
    Ok(Factor { tensor: reshape(&product, &sizes(&labels))?, labels })
}

/// Summed over the labels that are not kept.
fn summed(factor: Factor, keep: impl Fn(Label) -> bool) -> Result<Factor> {
    let gone: Vec<i64> =
        (0..factor.labels.len()).filter(|&dim| !keep(factor.labels[dim])).map(|dim| dim as i64).collect();
    if gone.is_empty() {
        return Ok(factor);
    }
    let tensor = sum(&factor.tensor, &gone, false, None)?;
    let labels = factor.labels.iter().copied().filter(|&label| keep(label)).collect();
    Ok(Factor { tensor, labels })
}

/// The dimensions in the order of `labels`, expanded to their sizes.
fn arranged(factor: &Factor, labels: &[Label], size: impl Fn(Label) -> i64) -> Result<Tensor> {
    let order: Vec<i64> = labels
        .iter()
        .filter_map(|label| factor.labels.iter().position(|own| own == label))
        .map(|dim| dim as i64)
        .collect();
    let tensor = permute(&factor.tensor, &order)?;
    let sizes: Vec<i64> = labels.iter().map(|&label| size(label)).collect();
    super::expand(&tensor, &sizes)
}

fn finish(factor: Factor, output: &[Label]) -> Result<Tensor> {
    let factor = summed(factor, |label| output.contains(&label))?;
    let order: Vec<i64> = output
        .iter()
        .filter_map(|label| factor.labels.iter().position(|own| own == label))
        .map(|dim| dim as i64)
        .collect();
    permute(&factor.tensor, &order)
}
