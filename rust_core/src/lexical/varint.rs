//! Numbers as LEB128: seven bits a byte, the lowest first.

pub fn put(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// None when the bytes end within a number.
pub fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Numbers that ascend, as gaps.
pub fn put_ascending(bytes: &mut Vec<u8>, numbers: &[u32]) {
    let mut before = 0;
    for number in numbers {
        put(bytes, u64::from(number - before));
        before = *number;
    }
}

/// What `put_ascending` put; None when the bytes are not that.
pub fn take_ascending(bytes: &mut &[u8], count: u32) -> Option<Vec<u32>> {
    let mut number = 0u64;
    let mut numbers = Vec::with_capacity((count as usize).min(bytes.len()));
    for at in 0..count {
        let gap = take(bytes)?;
        if gap == 0 && at > 0 {
            return None;
        }
        number = number.checked_add(gap)?;
        numbers.push(u32::try_from(number).ok()?);
    }
    Some(numbers)
}
