//! Whole runs, timed: `make bench`. One element is one delivered segment.

use ackclock_bench::workload::{ids, workload};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn runs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("runs");
    for id in ids().iter().filter(|id| id.starts_with("run-")) {
        let mut workload = workload(id).expect("every word has its workload");
        group.throughput(Throughput::Elements((workload.work)()));
        group.bench_function(id, |bencher| bencher.iter(&mut workload.work));
    }
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(10); targets = runs }
criterion_main!(benches);
