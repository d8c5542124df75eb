window.BENCHMARK_DATA = {
  "lastUpdate": 1795000000000,
  "repoUrl": "https://example.com/made",
  "entries": {
    "Rust Benchmark": [
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000001",
          "message": "change 1",
          "timestamp": "2026-11-01T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000065",
          "url": "https://example.com/commit/0000000000000000000000000000000000000001"
        },
        "date": 1793686400000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "value": 181,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "fib_20",
            "value": 22100,
            "range": "± 501",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000002",
          "message": "change 2",
          "timestamp": "2026-11-02T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000066",
          "url": "https://example.com/commit/0000000000000000000000000000000000000002"
        },
        "date": 1793772800000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "value": 182,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "fib_20",
            "value": 22200,
            "range": "± 501",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000003",
          "message": "change 3",
          "timestamp": "2026-11-03T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000067",
          "url": "https://example.com/commit/0000000000000000000000000000000000000003"
        },
        "date": 1793859200000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "value": 183,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "fib_20",
            "value": 22300,
            "range": "± 501",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000004",
          "message": "change 4",
          "timestamp": "2026-11-04T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000068",
          "url": "https://example.com/commit/0000000000000000000000000000000000000004"
        },
        "date": 1793945600000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "value": 184,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "fib_20",
            "value": 22400,
            "range": "± 501",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000005",
          "message": "change 5",
          "timestamp": "2026-11-05T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000069",
          "url": "https://example.com/commit/0000000000000000000000000000000000000005"
        },
        "date": 1794032000000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "value": 185,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "fib_20",
            "value": 22500,
            "range": "± 501",
            "unit": "ns/iter"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000006",
          "message": "change 6",
          "timestamp": "2026-11-06T10:00:00+01:00",
          "tree_id": "000000000000000000000000000000000000006a",
          "url": "https://example.com/commit/0000000000000000000000000000000000000006"
        },
        "date": 1794118400000,
        "tool": "cargo",
        "benches": [
          {
            "name": "fib_10",
            "value": 186,
            "range": "± 24",
            "unit": "ns/iter"
          },
          {
            "name": "fib_20",
            "value": 22600,
            "range": "± 501",
            "unit": "ns/iter"
          }
        ]
      }
    ],
    "Python Benchmark": [
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000002",
          "message": "change 2",
          "timestamp": "2026-11-02T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000066",
          "url": "https://example.com/commit/0000000000000000000000000000000000000002"
        },
        "date": 1793772860000,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_sort",
            "value": 40998.5,
            "unit": "iter/sec",
            "range": "stddev: 0.0001",
            "extra": "mean: 24.38 usec\nrounds: 4096"
          },
          {
            "name": "memory",
            "value": 12,
            "unit": "MB"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000003",
          "message": "change 3",
          "timestamp": "2026-11-03T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000067",
          "url": "https://example.com/commit/0000000000000000000000000000000000000003"
        },
        "date": 1793859260000,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_sort",
            "value": 40997.5,
            "unit": "iter/sec",
            "range": "stddev: 0.0001",
            "extra": "mean: 24.38 usec\nrounds: 4096"
          },
          {
            "name": "memory",
            "value": 12,
            "unit": "MB"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000004",
          "message": "change 4",
          "timestamp": "2026-11-04T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000068",
          "url": "https://example.com/commit/0000000000000000000000000000000000000004"
        },
        "date": 1793945660000,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_sort",
            "value": 40996.5,
            "unit": "iter/sec",
            "range": "stddev: 0.0001",
            "extra": "mean: 24.38 usec\nrounds: 4096"
          },
          {
            "name": "memory",
            "value": 12,
            "unit": "MB"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000005",
          "message": "change 5",
          "timestamp": "2026-11-05T10:00:00+01:00",
          "tree_id": "0000000000000000000000000000000000000069",
          "url": "https://example.com/commit/0000000000000000000000000000000000000005"
        },
        "date": 1794032060000,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_sort",
            "value": 40995.5,
            "unit": "iter/sec",
            "range": "stddev: 0.0001",
            "extra": "mean: 24.38 usec\nrounds: 4096"
          },
          {
            "name": "memory",
            "value": 12,
            "unit": "MB"
          }
        ]
      },
      {
        "commit": {
          "author": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "committer": {
            "email": "a@example.com",
            "name": "A",
            "username": "a"
          },
          "distinct": true,
          "id": "0000000000000000000000000000000000000006",
          "message": "change 6",
          "timestamp": "2026-11-06T10:00:00+01:00",
          "tree_id": "000000000000000000000000000000000000006a",
          "url": "https://example.com/commit/0000000000000000000000000000000000000006"
        },
        "date": 1794118460000,
        "tool": "pytest",
        "benches": [
          {
            "name": "test_sort",
            "value": 40994.5,
            "unit": "iter/sec",
            "range": "stddev: 0.0001",
            "extra": "mean: 24.38 usec\nrounds: 4096"
          },
          {
            "name": "memory",
            "value": 12,
            "unit": "MB"
          }
        ]
      }
    ]
  }
}