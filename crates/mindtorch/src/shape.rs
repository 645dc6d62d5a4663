//! Sizes and strides: arithmetic on dimensions, no memory.

use crate::error::{Result, bail, ensure};
use smallvec::SmallVec;

/// Sizes or strides, in numbers. Up to five need no allocation.
pub type Dims = SmallVec<[usize; 5]>;

/// How many numbers there are.
#[inline]
pub(crate) fn numel(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The strides of numbers that lie one after another.
#[inline]
pub(crate) fn contiguous_strides(shape: &[usize]) -> Dims {
    let mut strides = Dims::from_elem(1, shape.len());
    for dim in (1..shape.len()).rev() {
        strides[dim - 1] = strides[dim] * shape[dim].max(1);
    }
    strides
}

/// Whether the numbers lie one after another. The stride of a dimension of size 1 does not matter.
#[inline]
pub(crate) fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    for (&size, &stride) in shape.iter().zip(strides).rev() {
        if size == 0 {
            return true;
        }
        if size != 1 {
            if stride != expected {
                return false;
            }
            expected *= size;
        }
    }
    true
}

/// Whether the numbers fill a stretch of memory, each place once, in whatever order of the dimensions.
pub(crate) fn is_dense(shape: &[usize], strides: &[usize]) -> bool {
    let mut dims: SmallVec<[(usize, usize); 5]> =
        shape.iter().zip(strides).filter(|(size, _)| **size != 1).map(|(&size, &stride)| (stride, size)).collect();
    if shape.contains(&0) {
        return true;
    }
    dims.sort_unstable();
    let mut expected = 1;
    for &(stride, size) in &dims {
        if stride != expected {
            return false;
        }
        expected *= size;
    }
    true
}

/// A dimension that may be counted from the end. A number without dimensions has one for this purpose.
pub(crate) fn wrap_dim(dim: i64, ndim: usize) -> Result<usize> {
    let range = ndim.max(1) as i64;
    ensure!(
        (-range..range).contains(&dim),
        Index,
        "Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
        -range,
        range - 1
    );
    Ok(if dim < 0 { dim + range } else { dim } as usize)
}

/// Several dimensions, none of them twice; none given are all.
pub(crate) fn wrap_dims(dims: &[i64], ndim: usize) -> Result<Dims> {
    if dims.is_empty() {
        return Ok((0..ndim).collect());
    }
    let mut wrapped = Dims::new();
    for &dim in dims {
        let dim = wrap_dim(dim, ndim)?;
        ensure!(!wrapped.contains(&dim), Runtime, "dim {dim} appears multiple times in the list of dims");
        wrapped.push(dim);
    }
    Ok(wrapped)
}

/// The shape to which both can be expanded.
pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Result<Dims> {
    if a == b {
        return Ok(a.into());
    }
    let ndim = a.len().max(b.len());
    let mut shape = Dims::from_elem(1, ndim);
    for from_end in 1..=ndim {
        let size = |shape: &[usize]| if from_end <= shape.len() { shape[shape.len() - from_end] } else { 1 };
        let (x, y) = (size(a), size(b));
        shape[ndim - from_end] = match (x, y) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => bail!(
                Runtime,
                "The size of tensor a ({x}) must match the size of tensor b ({y}) at non-singleton dimension {}",
                ndim - from_end
            ),
        };
    }
    Ok(shape)
}

/// The strides with which a tensor is read as if it had `target`'s shape; it is known to be expandable.
pub(crate) fn expanded_strides(shape: &[usize], strides: &[usize], target: &[usize]) -> Dims {
    let added = target.len() - shape.len();
    (0..target.len())
        .map(|dim| match dim.checked_sub(added) {
            Some(own) if shape[own] == target[dim] => strides[own],
            _ => 0,
        })
        .collect()
}

/// The shape after replacing the one size that may be -1.
pub(crate) fn infer_size(sizes: &[i64], numel: usize) -> Result<Dims> {
    let (mut known, mut unknown) = (1usize, None);
    for (dim, &size) in sizes.iter().enumerate() {
        match size {
            -1 if unknown.is_some() => bail!(Runtime, "only one dimension can be inferred"),
            -1 => unknown = Some(dim),
            size if size < 0 => bail!(Runtime, "invalid shape dimension {size}"),
            size => known = known.saturating_mul(size as usize),
        }
    }
    let invalid = || format!("shape '{}' is invalid for input of size {numel}", list(sizes));
    let mut shape: Dims = sizes.iter().map(|&size| size.max(0) as usize).collect();
    match unknown {
        Some(_) if known == 0 => bail!(
            Runtime,
            "cannot reshape tensor of 0 elements into shape {} because the unspecified dimension size -1 can be any value and \
             is ambiguous",
            list(sizes)
        ),
        Some(dim) if numel.is_multiple_of(known) => shape[dim] = numel / known,
        None if known == numel => {}
        _ => bail!(Runtime, "{}", invalid()),
    }
    Ok(shape)
}

/// The strides with which the same memory can be seen in another shape, if it can.
pub(crate) fn view_strides(shape: &[usize], strides: &[usize], target: &[usize]) -> Option<Dims> {
    if numel(shape) == 0 {
        return Some(contiguous_strides(target));
    }
    let mut result = Dims::from_elem(0, target.len());
    // Runs of dimensions that lie together are cut anew, from the last one on.
    let mut view = target.len();
    let (mut run_base, mut run_numel, mut cut_numel) = (strides.last().copied().unwrap_or(1), 1usize, 1usize);
    for dim in (0..shape.len()).rev() {
        run_numel *= shape[dim];
        let run_ends = dim == 0 || (shape[dim - 1] != 1 && strides[dim - 1] != run_numel * run_base);
        if !run_ends {
            continue;
        }
        while view > 0 && (cut_numel < run_numel || target[view - 1] == 1) {
            view -= 1;
            result[view] = cut_numel * run_base;
            cut_numel *= target[view];
        }
        if cut_numel != run_numel {
            return None;
        }
        if dim > 0 {
            (run_base, run_numel, cut_numel) = (strides[dim - 1], 1, 1);
        }
    }
    if shape.is_empty() {
        return Some(contiguous_strides(target));
    }
    (view == 0).then_some(result)
}

/// As Python prints a list.
pub(crate) fn list<T: std::fmt::Display>(items: &[T]) -> String {
    let items: Vec<String> = items.iter().map(T::to_string).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_broadcast_from_the_end() {
        assert_eq!(broadcast(&[3, 1], &[4]).unwrap()[..], [3, 4]);
        assert_eq!(broadcast(&[], &[2, 0]).unwrap()[..], [2, 0]);
        assert_eq!(broadcast(&[1], &[0]).unwrap()[..], [0]);
        let error = broadcast(&[2, 3], &[2, 4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1"
        );
    }

    #[test]
    fn memory_is_seen_in_another_shape_only_where_strides_allow_it() {
        assert_eq!(view_strides(&[2, 3], &[3, 1], &[3, 2]).unwrap()[..], [2, 1]);
        assert_eq!(view_strides(&[2, 3], &[3, 1], &[6]).unwrap()[..], [1]);
        assert_eq!(view_strides(&[3, 2], &[1, 3], &[6]), None);
        assert_eq!(view_strides(&[3, 4], &[1, 3], &[3, 2, 2]).unwrap()[..], [1, 6, 3]);
        assert_eq!(view_strides(&[], &[], &[1, 1]).unwrap()[..], [1, 1]);
        assert_eq!(view_strides(&[4], &[2], &[2, 1, 2]).unwrap()[..], [4, 4, 2]);
        assert_eq!(view_strides(&[5], &[0], &[5, 1]).unwrap().len(), 2);
    }

    #[test]
    fn one_size_can_be_left_open() {
        assert_eq!(infer_size(&[2, -1], 6).unwrap()[..], [2, 3]);
        assert!(infer_size(&[4, -1], 6).unwrap_err().to_string().contains("is invalid for input of size 6"));
        assert!(infer_size(&[-1, -1], 6).is_err());
        assert!(infer_size(&[0, -1], 0).is_err());
    }
}
