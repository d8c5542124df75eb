//! Packs a profile: JSON, compressed with deflate.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest document that is unpacked, so that a damaged length cannot exhaust the memory.
const MOST: u64 = 1 << 30;

pub(crate) fn pack(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    serde_json::to_writer(&mut packed, value)?;
    packed
        .flush()
        .and_then(|()| packed.finish())
        .map_err(serde_json::Error::io)
}

pub(crate) fn unpack<T: DeserializeOwned>(packed: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_reader(ZlibDecoder::new(packed).take(MOST))
}
