//! The model file: a header, the tokenizer's tables, then named tensors. All little-endian.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use memmap2::Mmap;

use crate::error::{Error, Result};

type Read<T> = std::result::Result<T, String>;

const MAGIC: &[u8] = b"E5S1";
/// Weights that share a scale.
pub const BLOCK: usize = 32;
/// A block in the file: its scale as f16, then 32 weights of 4 bits, the first 16 in the low halves.
pub const BLOCK_BYTES: usize = 2 + BLOCK / 2;

/// A model file, mapped, so that only the word vectors in use take memory.
pub struct File {
    bytes: Mmap,
    pub shape: Shape,
    /// Where the tokenizer's tables start.
    pub tables: usize,
    tensors: HashMap<String, usize>,
}

/// The sizes of a model.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub hidden: usize,
    pub layers: usize,
    pub inner: usize,
    pub vocabulary: usize,
    pub positions: usize,
    pub epsilon: f32,
}

impl File {
    pub fn open(path: &Path) -> Result<File> {
        let failed = |source| Error::io(format!("model file {}", path.display()), source);
        let file = fs::File::open(path).map_err(failed)?;
        // SAFETY: an installed package's file; who truncates it while it is in use ends the process, as with any
        // mapped library.
        let bytes = unsafe { Mmap::map(&file) }.map_err(failed)?;
        Self::read(bytes).map_err(|why| Error::invalid("path", format!("{}: {why}", path.display())))
    }

    fn read(bytes: Mmap) -> Read<File> {
        let mut cursor = Cursor { bytes: &bytes, at: 0 };
        if cursor.take(MAGIC.len())? != MAGIC {
            return Err("no model file, it does not start with E5S1".to_owned());
        }
        let _version = cursor.u32()?;
        let mut size = || cursor.u32().map(|n| n as usize);
        let (hidden, layers, heads, inner) = (size()?, size()?, size()?, size()?);
        let (vocabulary, positions, _types) = (size()?, size()?, size()?);
        let shape = Shape { hidden, layers, inner, vocabulary, positions, epsilon: cursor.f32()? };
        let block = cursor.u32()? as usize;
        let even = |n: usize| n > 0 && n <= 1 << 16 && n.is_multiple_of(BLOCK);
        let heads_fit = heads > 0 && hidden.is_multiple_of(heads) && hidden / heads == BLOCK;
        if block != BLOCK || !even(hidden) || !even(inner) || !heads_fit || positions < 3 {
            return Err(format!("unexpected sizes {shape:?}, blocks of {block}"));
        }
        let tables = cursor.at;
        let mut file = File { shape, tables, tensors: HashMap::new(), bytes };
        file.tensors = file.directory()?;
        Ok(file)
    }

    pub fn cursor(&self) -> Cursor<'_> {
        Cursor { bytes: &self.bytes, at: self.tables }
    }

    fn directory(&self) -> Read<HashMap<String, usize>> {
        let mut cursor = self.cursor();
        cursor.skip_tables()?;
        let count = cursor.u32()?;
        let mut tensors = HashMap::new();
        for _ in 0..count {
            let length = usize::from(cursor.u16()?);
            let name = String::from_utf8_lossy(cursor.take(length)?).into_owned();
            let _kind = cursor.take(1)?;
            let _elements = cursor.u32()?;
            let offset = cursor.u64()?;
            let _bytes = cursor.u64()?;
            tensors.insert(name, usize::try_from(offset).map_err(|e| e.to_string())?);
        }
        Ok(tensors)
    }

    /// `n` f32 numbers.
    pub fn floats(&self, name: &str, n: usize) -> Read<Vec<f32>> {
        let mut cursor = self.tensor(name)?;
        Ok(cursor
            .take(4 * n)?
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
            .collect())
    }

    /// The blocks of `rows` rows of `columns` weights.
    pub fn blocks(&self, name: &str, rows: usize, columns: usize) -> Read<&[u8]> {
        self.tensor(name)?.take(rows * columns / BLOCK * BLOCK_BYTES)
    }

    fn tensor(&self, name: &str) -> Read<Cursor<'_>> {
        match self.tensors.get(name) {
            Some(&at) => Ok(Cursor { bytes: &self.bytes, at }),
            None => Err(format!("tensor {name} is missing")),
        }
    }
}

/// Reads one value after the other and says where the file ends too early.
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn take(&mut self, n: usize) -> Read<&'a [u8]> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or_else(|| format!("cut off, {n} bytes are missing at {}", self.at))?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u16(&mut self) -> Read<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Read<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f32(&mut self) -> Read<f32> {
        self.array().map(f32::from_le_bytes)
    }

    fn skip_tables(&mut self) -> Read<()> {
        let pieces = self.u32()? as usize;
        self.take(16)?; // the marks
        let text = usize::try_from(self.u64()?).map_err(|e| e.to_string())?;
        self.take(4 * (pieces + 1))?;
        self.take(4 * pieces)?;
        self.take(text)?;
        let _mapped = self.u32()?;
        let bytes = self.u32()? as usize;
        self.take(bytes).map(|_| ())
    }
}

/// IEEE 754 half precision.
pub fn half(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f32::from(bits & 0x3ff);
    match exponent {
        0 => sign * fraction * 2.0f32.powi(-24),
        31 if fraction == 0.0 => sign * f32::INFINITY,
        31 => f32::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2.0f32.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_have_their_values() {
        for (bits, value) in
            [(0x3c00, 1.0), (0xc000, -2.0), (0x0001, 5.960_464_5e-8), (0x7bff, 65504.0), (0, 0.0)]
        {
            assert_eq!(half(bits), value);
        }
        assert!(half(0x7e00).is_nan());
    }
}
