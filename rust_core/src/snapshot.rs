//! A collection on disk: written whole or not at all, never believed without its checksum.
//!
//! Layout, all little-endian: magic (8 bytes), format version (u32), dimension (u32), applied_seq (i64), then
//! sections, each its length (u64) and its bytes: fields of the live slots, the length of each slot's (u32), hashes
//! of the records (u128), lexical index (msgpack), first rows (u32), the
//! high bytes of all rows, their low bytes, their largest numbers and the largest error (f32), the sum of the
//! live rows (f64), graph (see `Graph::image`; empty when there is none). At the end the xxh3-128 of all
//! before it (16 bytes).

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;

use xxhash_rust::xxh3::Xxh3Default;

use crate::collection::{Fields, Kept, State};
use crate::error::{Error, Result};
use crate::lexical::Lexical;
use crate::vector::{Graph, Rows, unpack};

const MAGIC: &[u8; 8] = b"SILTSNAP";
/// Counts every change of the layout, of the record's canonical form, of the lexical index, of the rows or of the graph.
const FORMAT_VERSION: u32 = 2;
const CHECKSUM: usize = 16;
const BLOCK: usize = 1 << 20;

pub fn path(directory: &Path, collection: u64) -> PathBuf {
    directory.join(format!("{collection}.snap"))
}

/// Writes a state to its file: into a temporary file, synced, renamed over the old one, the directory synced.
pub fn write(path: &Path, state: &State) -> Result<()> {
    let temporary = path.with_extension("snap.tmp");
    let written = write_file(&temporary, state).and_then(|()| {
        fs::rename(&temporary, path)?;
        sync_directory(path)
    });
    written.map_err(|error| {
        // best effort: the error that matters is the one we report
        let _ = fs::remove_file(&temporary);
        Error::io(format!("writing the snapshot {}", path.display()), error)
    })
}

/// Deletes a snapshot for good; no error when there is none.
pub fn delete(path: &Path) -> Result<()> {
    let deleted = match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory(path),
    };
    deleted.map_err(|error| Error::io(format!("deleting the snapshot {}", path.display()), error))
}

/// Reads a state. None when the file is missing, damaged, of another format version or dimension; an error
/// when it is there and cannot be read.
pub fn read(path: &Path, dimension: usize) -> Result<Option<State>> {
    match read_file(path, dimension) {
        Ok(state) => Ok(state),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(Error::io(format!("reading the snapshot {}", path.display()), error)),
    }
}

/// Removes what writers that died left behind.
pub fn clean(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".snap.tmp") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn write_file(path: &Path, state: &State) -> io::Result<()> {
    let mut out =
        Hashed { inner: BufWriter::with_capacity(BLOCK, File::create(path)?), hash: Xxh3Default::new() };
    out.write_all(MAGIC)?;
    out.write_all(&FORMAT_VERSION.to_le_bytes())?;
    out.write_all(&(state.vectors.dimension() as u32).to_le_bytes())?;
    out.write_all(&state.applied_seq.to_le_bytes())?;

    let (fields, lengths, hashes) = state.fields.parts();
    put_bytes(&mut out, &fields)?;
    drop(fields);
    put_numbers(&mut out, lengths.iter().copied())?;
    put_bytes(&mut out, &hashes.iter().flat_map(|hash| hash.to_le_bytes()).collect::<Vec<u8>>())?;
    put_bytes(&mut out, &rmp_serde::to_vec(&state.lexical).map_err(io::Error::other)?)?;
    put_numbers(&mut out, state.vectors.first_rows().iter().copied())?;
    let (high, low, largest) = state.vectors.rows().parts();
    put_bytes(&mut out, high)?;
    put_bytes(&mut out, low)?;
    let error = state.vectors.rows().error();
    put_numbers(&mut out, [largest, &[error]].concat().into_iter().map(f32::to_bits))?;
    put_bytes(&mut out, &state.vectors.sum().iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())?;
    let graph = state.vectors.graph().map(|graph| graph.image()).transpose().map_err(io::Error::other)?;
    put_bytes(&mut out, &graph.unwrap_or_default())?;
    let checksum = out.hash.digest128().to_le_bytes();
    out.inner.write_all(&checksum)?;
    out.inner.into_inner()?.sync_all()
}

fn read_file(path: &Path, dimension: usize) -> io::Result<Option<State>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    if !is_whole(&mut file, length)? {
        return Ok(None);
    }
    let mut reader = BufReader::with_capacity(BLOCK, File::open(path)?);
    let mut magic = [0; 8];
    reader.read_exact(&mut magic)?;
    let version = u32::from_le_bytes(array(&mut reader)?);
    let stored_dimension = u32::from_le_bytes(array(&mut reader)?);
    let applied_seq = i64::from_le_bytes(array(&mut reader)?);
    if &magic != MAGIC || version != FORMAT_VERSION || stored_dimension as usize != dimension {
        return Ok(None);
    }
    let fields = section(&mut reader, length)?;
    let lengths = numbers(&section(&mut reader, length)?);
    let hashes =
        section(&mut reader, length)?.as_chunks::<16>().0.iter().map(|b| u128::from_le_bytes(*b)).collect();
    let Some(fields) = Fields::from_parts(fields, lengths, hashes) else { return Ok(None) };
    let lexical = section(&mut reader, length)?;
    let first_rows = numbers(&section(&mut reader, length)?);
    let (high, low) = (section(&mut reader, length)?, section(&mut reader, length)?);
    let mut largest = unpack(&section(&mut reader, length)?);
    let error = largest.pop().unwrap_or(f32::NAN);
    let sum =
        section(&mut reader, length)?.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let graph = section(&mut reader, length)?;
    let Some(rows) = Rows::from_parts(dimension, high, low, largest, error) else { return Ok(None) };
    // a graph that does not fit is built again behind
    let graph = Graph::from_image(&graph, rows.len());
    let kept = Kept { applied_seq, fields, first_rows, rows, sum, graph };
    // the two that take longest
    Ok(thread::scope(|scope| {
        let lexical = scope.spawn(|| rmp_serde::from_slice::<Lexical>(&lexical).ok());
        let state = State::restore(dimension, kept);
        let (mut state, lexical) = (state?, lexical.join().ok().flatten()?);
        state.lexical = lexical;
        (state.lexical.slots() <= state.fields.slots()).then_some(state)
    }))
}

fn put_bytes(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(&(bytes.len() as u64).to_le_bytes())?;
    out.write_all(bytes)
}

fn put_numbers(out: &mut impl Write, numbers: impl ExactSizeIterator<Item = u32>) -> io::Result<()> {
    out.write_all(&(4 * numbers.len() as u64).to_le_bytes())?;
    let mut block = Vec::with_capacity(BLOCK);
    for number in numbers {
        block.extend_from_slice(&number.to_le_bytes());
        if block.len() == BLOCK {
            out.write_all(&block)?;
            block.clear();
        }
    }
    out.write_all(&block)
}

fn numbers(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect()
}

/// Whether the checksum at the end is that of all before it.
fn is_whole(file: &mut File, length: u64) -> io::Result<bool> {
    let Some(payload) = length.checked_sub(CHECKSUM as u64) else { return Ok(false) };
    let mut hash = Xxh3Default::new();
    let mut block = vec![0; BLOCK];
    let mut left = payload;
    while left > 0 {
        let size = left.min(BLOCK as u64) as usize;
        file.read_exact(&mut block[..size])?;
        hash.update(&block[..size]);
        left -= size as u64;
    }
    let stored: [u8; CHECKSUM] = array(file)?;
    Ok(u128::from_le_bytes(stored) == hash.digest128())
}

fn section(reader: &mut impl Read, limit: u64) -> io::Result<Vec<u8>> {
    let length = u64::from_le_bytes(array(reader)?);
    if length > limit {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = vec![0; length as usize];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn array<const N: usize>(reader: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Without it a renamed file may still be gone after a power cut.
fn sync_directory(file: &Path) -> io::Result<()> {
    match file.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

struct Hashed<W> {
    inner: W,
    hash: Xxh3Default,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_that_cannot_be_written_leaves_the_old_one() {
        let directory = std::env::temp_dir().join(format!("rust-core-snapshot-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let file = path(&directory, 7);
        write(&file, &State::new(4, 11)).unwrap();
        // a directory in the way of the temporary file
        fs::create_dir(file.with_extension("snap.tmp")).unwrap();
        assert!(matches!(write(&file, &State::new(4, 12)), Err(Error::Io { .. })));
        assert_eq!(read(&file, 4).unwrap().unwrap().applied_seq, 11);
        fs::remove_dir(file.with_extension("snap.tmp")).unwrap();

        fs::write(directory.join("8.snap.tmp"), b"half").unwrap();
        clean(&directory).unwrap();
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 1);
        delete(&file).unwrap();
        delete(&file).unwrap();
        assert!(read(&file, 4).unwrap().is_none());
        fs::remove_dir_all(directory).unwrap();
    }
}
