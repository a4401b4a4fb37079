//! The parts of the hot path, timed: `make bench`. Instruction counts guard them; this measures their time.

use ackclock_bench::workload::{ids, workload};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn parts(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parts");
    for id in ids().iter().filter(|id| !id.starts_with("run-")) {
        let mut workload = workload(id).expect("every word has its workload");
        group.throughput(Throughput::Elements((workload.work)()));
        group.bench_function(id, |bencher| bencher.iter(&mut workload.work));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = parts }
criterion_main!(benches);
