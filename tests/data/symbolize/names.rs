// SPDX-License-Identifier: Apache-2.0
pub mod inner {
    pub struct Thing {
        pub n: u64,
    }
    impl Thing {
        #[inline(never)]
        pub fn grow(&mut self, by: u64) -> u64 {
            self.n = self.n.wrapping_mul(by);
            self.n
        }
    }
}

fn main() {
    let mut thing = inner::Thing { n: std::env::args().count() as u64 };
    std::process::exit((thing.grow(3) & 1) as i32);
}
