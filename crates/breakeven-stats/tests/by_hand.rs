//! Each statistic by hand: figures of the tables, ends of the ranges, refusals.

mod anova {
    use breakeven_stats::one_way_anova;

    #[test]
    fn an_analysis_of_variance_by_hand() {
        // Between 84 / 2, within 68 / 15: F = 9.2647, its upper tail 0.002 398 78.
        let groups = [
            vec![6.0, 8.0, 4.0, 5.0, 3.0, 4.0],
            vec![8.0, 12.0, 9.0, 11.0, 6.0, 8.0],
            vec![13.0, 9.0, 11.0, 8.0, 7.0, 12.0],
        ];
        let p_value = one_way_anova(&groups).unwrap();
        assert!((p_value - 0.002_398_78).abs() < 1e-7, "{p_value}");
        let of = |groups: &[&[f64]]| {
            let groups: Vec<Vec<f64>> = groups.iter().map(|group| group.to_vec()).collect();
            one_way_anova(&groups)
        };
        assert_eq!(of(&[&[1.0, 1.0], &[1.0, 1.0]]), Ok(1.0));
        assert_eq!(of(&[&[1.0, 1.0], &[2.0, 2.0]]), Ok(0.0));
        for refused in [
            &[] as &[&[f64]],
            &[&[1.0, 2.0]],
            &[&[1.0], &[2.0]],
            &[&[], &[1.0, 2.0]],
        ] {
            assert!(of(refused).is_err(), "{refused:?}");
        }
        assert!(of(&[&[1.0, f64::NAN], &[2.0]]).is_err());
        // The ratio is 1.2e308, and one more step of the formula has no room for it.
        let alike = [0.0, 3.162_277_660_168_379_4e-154];
        assert_eq!(of(&[&alike, &[1.0, 1.0], &[2.0, 2.0]]), Ok(0.0));
    }
}

mod bootstrap {
    use breakeven_stats::{Bootstrap, bootstrap, bootstrap_median_ratio};

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    const OPTIONS: Bootstrap = Bootstrap {
        level: 0.95,
        resamples: 4000,
        seed: 7,
    };

    #[test]
    fn same_seed_same_interval() {
        let values: Vec<f64> = (0..30).map(|i| f64::from(i * i)).collect();
        let first = bootstrap(&values, mean, &OPTIONS).unwrap();
        assert_eq!(bootstrap(&values, mean, &OPTIONS), Ok(first));
        let other = Bootstrap { seed: 8, ..OPTIONS };
        assert_ne!(bootstrap(&values, mean, &other), Ok(first));
        assert!(first.lower < first.estimate && first.estimate < first.upper);
    }

    #[test]
    fn percentile_of_a_mean_is_the_normal_interval() {
        // 1..=400: plug-in deviation of the mean is √((n² − 1)/12/n) = 5.77.
        let values: Vec<f64> = (1..=400).map(f64::from).collect();
        let found = bootstrap(&values, mean, &OPTIONS).unwrap();
        let error = ((400.0f64 * 400.0 - 1.0) / 12.0 / 400.0).sqrt();
        assert!((found.lower - (200.5 - 1.96 * error)).abs() < 0.1 * error);
        assert!((found.upper - (200.5 + 1.96 * error)).abs() < 0.1 * error);
    }

    #[test]
    fn equal_values_have_an_interval_of_zero_width() {
        let found = bootstrap(&[0.1; 5], mean, &OPTIONS).unwrap();
        assert_eq!((found.lower, found.upper), (found.estimate, found.estimate));
        let ratio = bootstrap_median_ratio(&[2.0; 3], &[3.0; 4], &OPTIONS).unwrap();
        assert_eq!((ratio.lower, ratio.estimate, ratio.upper), (1.5, 1.5, 1.5));
    }

    #[test]
    fn refusals() {
        assert!(bootstrap(&[1.0], mean, &OPTIONS).is_err());
        let overflow = bootstrap(&[1.0, 2.0], |_| f64::NAN, &OPTIONS).unwrap_err();
        assert!(overflow.to_string().contains("comes out as NaN"));
        let few = Bootstrap {
            resamples: 10,
            ..OPTIONS
        };
        assert!(bootstrap(&[1.0, 2.0], mean, &few).is_err());
        assert!(bootstrap_median_ratio(&[0.0, 1.0], &[1.0, 1.0], &OPTIONS).is_err());
    }
}

mod correction {
    use breakeven_stats::benjamini_hochberg;

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }

    #[test]
    fn by_hand() {
        // Sorted 0.01 0.02 0.03 0.5. BH: 0.5, then min(0.04, ·), 0.04, 0.04.
        let p = [0.03, 0.5, 0.01, 0.02];
        close(&benjamini_hochberg(&p).unwrap(), &[0.04, 0.5, 0.04, 0.04]);
    }

    #[test]
    fn none_one_and_not_a_probability() {
        assert_eq!(benjamini_hochberg(&[]), Ok(vec![]));
        assert_eq!(benjamini_hochberg(&[0.2]), Ok(vec![0.2]));
        for bad in [-0.1, 1.1, f64::NAN] {
            let error = benjamini_hochberg(&[0.5, bad]).unwrap_err();
            assert!(error.to_string().starts_with("p_values[1] is "), "{error}");
        }
    }
}

mod fit {
    use breakeven_stats::{power_law, theil_sen};

    #[test]
    fn one_wild_point_does_not_move_the_line() {
        let x: Vec<f64> = (0..12).map(f64::from).collect();
        let mut y: Vec<f64> = x.iter().map(|x| 3.0 + 2.0 * x).collect();
        y[7] = 1e6;
        let line = theil_sen(&x, &y, 0.95).unwrap();
        assert_eq!((line.slope, line.slope_lower), (2.0, 2.0));
        assert!((line.intercept - 3.0).abs() <= 2.0);
    }

    #[test]
    fn three_points_by_hand() {
        // Slopes 1, 2 and 3 (over two): 1, 3, 2; medians of x and y 1 and 1.
        let line = theil_sen(&[0.0, 1.0, 2.0], &[0.0, 1.0, 4.0], 0.95).unwrap();
        assert_eq!((line.slope, line.intercept), (2.0, -1.0));
        assert_eq!((line.slope_lower, line.slope_upper), (1.0, 3.0));
    }

    #[test]
    fn a_cubic_is_found() {
        let x: Vec<f64> = (4..11).map(|e| 2f64.powi(e)).collect();
        let y: Vec<f64> = x.iter().map(|n| 2e-9 * n.powi(3)).collect();
        let law = power_law(&x, &y, 0.95).unwrap();
        assert!((law.slope - 3.0).abs() < 1e-12);
        assert!((law.intercept.exp() / 2e-9 - 1.0).abs() < 1e-9);
        assert!(law.slope_upper - law.slope_lower < 1e-9);
    }

    #[test]
    fn refusals() {
        let refused = |x: &[f64], y: &[f64], kind: &str| {
            let error = theil_sen(x, y, 0.95).unwrap_err();
            assert!(error.to_string().contains(kind), "{error}");
        };
        refused(&[2.0; 3], &[1.0, 2.0, 3.0], "all values of x are equal");
        refused(&[1.0, 2.0], &[1.0, 2.0], "measure more");
        refused(&[1.0], &[], "one y for each x");
        refused(&[0.0; 2001], &[0.0; 2001], "at most 2000");
        refused(&[0.0, 1e-300, 1.0], &[0.0, 1e100, 1.0], "comes out as");
        assert!(power_law(&[0.0, 1.0, 2.0], &[1.0, 1.0, 1.0], 0.95).is_err());
    }
}

mod mean {
    use breakeven_stats::mean_interval;

    #[test]
    fn the_interval_is_that_of_the_tables() {
        // t(0.975, 4) = 2.776 445; s = 1.581 139.
        let [low, high] = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
        assert!((low - 1.036_757).abs() < 1e-6 && (high - 4.963_243).abs() < 1e-6);
        assert_eq!(mean_interval(&[2.0, 2.0], 0.95), Ok([2.0, 2.0]));
    }

    #[test]
    fn what_has_no_interval_is_refused() {
        let few = mean_interval(&[1.0], 0.95).unwrap_err().to_string();
        let expected = "values has 1 value(s) where at least 2 are needed; measure more";
        assert_eq!(few, expected);
        assert!(mean_interval(&[1.0, f64::NAN], 0.95).is_err());
        assert!(mean_interval(&[1.0, 2.0], 1.0).is_err());
    }
}

mod deviation {
    use breakeven_stats::deviation_interval;

    #[test]
    fn ten_values_by_the_table() {
        // χ² on 9 degrees of freedom: 19.0228 with 2.5 % above it, 2.7004 with 97.5 %.
        let values: Vec<f64> = (0..10).map(f64::from).collect();
        let squares = 82.5f64;
        let [lower, upper] = deviation_interval(&values, 0.95).unwrap();
        assert!((lower - (squares / 19.0228).sqrt()).abs() < 1e-5, "{lower}");
        assert!((upper - (squares / 2.7004).sqrt()).abs() < 1e-4, "{upper}");
        assert_eq!(deviation_interval(&[3.0, 3.0], 0.9), Ok([0.0, 0.0]));
        assert!(deviation_interval(&[3.0], 0.9).is_err());
        assert!(deviation_interval(&[3.0, 4.0], 0.0).is_err());
        assert!(deviation_interval(&[3.0, 4.0], 1.0 - f64::EPSILON / 2.0).is_err());
    }
}

mod sample_size {
    use breakeven_stats::runs_needed;

    #[test]
    fn a_standardised_effect_of_one_takes_seventeen() {
        // The textbook case: d = 1, 5 %, 80 %: 16 by normal quantiles
        // (2·(1.96 + 0.84)² = 15.7), 17 by t.
        let cv = (0.01f64.powi(2).exp() - 1.0).sqrt();
        assert_eq!(runs_needed(cv, 0.01f64.exp(), 0.05, 0.8), Ok(17));
        // d = 2 takes 6.
        assert_eq!(runs_needed(cv, 0.02f64.exp(), 0.05, 0.8), Ok(6));
    }

    #[test]
    fn faster_and_slower_take_the_same() {
        let slower = runs_needed(0.02, 1.05, 0.05, 0.8).unwrap();
        assert_eq!(runs_needed(0.02, 1.0 / 1.05, 0.05, 0.8), Ok(slower));
        assert!(runs_needed(0.04, 1.05, 0.05, 0.8).unwrap() > slower);
        assert_eq!(runs_needed(0.0, 1.05, 0.05, 0.8), Ok(2));
    }

    #[test]
    fn refusals() {
        for (cv, effect, alpha, power) in [
            (0.02, 1.0, 0.05, 0.8),
            (0.02, -1.0, 0.05, 0.8),
            (0.02, f64::NAN, 0.05, 0.8),
            (-0.1, 1.05, 0.05, 0.8),
            (f64::NAN, 1.05, 0.05, 0.8),
            (0.02, 1.05, 0.0, 0.8),
            (0.02, 1.05, 0.05, 1.0),
            (0.5, 1.0 + 1e-9, 0.05, 0.8),
        ] {
            assert!(runs_needed(cv, effect, alpha, power).is_err());
        }
    }
}
