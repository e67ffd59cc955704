// SPDX-License-Identifier: Apache-2.0
// Holds memory in functions of the kinds that Rust has: methods, traits, closures, generics.
use std::collections::HashMap;
use std::io::{Read, Write};
mod shop {
    pub struct Cart<T> { pub items: Vec<T> }
    impl<T: Clone> Cart<T> {
        #[inline(never)]
        pub fn fill(&mut self, what: T, n: usize) { for _ in 0..n { self.items.push(what.clone()); } }
    }
    pub trait Store { fn keep(&mut self, n: usize); }
    impl Store for Cart<u64> {
        #[inline(never)]
        fn keep(&mut self, n: usize) { self.items.reserve_exact(n); for i in 0..n { self.items.push(i as u64) } }
    }
    impl Store for Vec<Box<[u8]>> {
        #[inline(never)]
        fn keep(&mut self, n: usize) { self.push(vec![1u8; n].into_boxed_slice()); }
    }
}
use shop::Store;
#[inline(never)]
fn by_closure(n: usize) -> Vec<Vec<u8>> { (0..4).map(|i| { let v = vec![i as u8; n]; v }).collect() }
#[inline(never)]
fn apply<F: Fn(usize) -> String>(f: F, n: usize) -> String { f(n) }
#[inline(never)]
fn strings(n: usize) -> String { apply(|k| "x".repeat(k), n) }
#[inline(never)]
fn table(n: usize) -> HashMap<u64, [u8; 64]> { let mut m = HashMap::new(); for i in 0..n { m.insert(i as u64, [1; 64]); } m }
fn main() {
    let mut c = shop::Cart::<u64> { items: Vec::new() }; c.keep(300000);
    let mut s = shop::Cart::<[u32; 8]> { items: Vec::new() }; s.fill([1; 8], 60000);
    let mut b: Vec<Box<[u8]>> = Vec::new(); b.keep(2000000);
    let k = by_closure(700000); let t = strings(3000000); let h = table(20000);
    println!("ready"); std::io::stdout().flush().unwrap();
    let mut buf = [0; 1]; let _ = std::io::stdin().read(&mut buf);
    println!("{}", c.items.len() + s.items.len() + b.len() + k.len() + t.len() + h.len());
}
