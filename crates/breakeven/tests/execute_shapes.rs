//! Operators and devices that keep to no shape.

use breakeven::execute::ExecuteError;
use breakeven::{Error, ErrorKind, Operator, Tensor, View};

use crate::execute_items::{SumAndProduct, cpu_only};

/// Three items of two numbers, from nothing.
struct FromNothing(Vec<usize>);

impl Operator for FromNothing {
    type In = f32;
    type Out = f32;

    fn name(&self) -> &str {
        "from_nothing"
    }

    fn output_shape(&self, _: &[&[usize]]) -> Result<Vec<usize>, Error> {
        Ok(self.0.clone())
    }

    fn cpu(&self, _: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
        out.fill(1.0);
        Ok(())
    }
}

#[test]
fn an_operator_without_inputs_is_refused_whatever_it_gives() {
    let none: [Tensor<'static>; 0] = [];
    let said = "from_nothing: no inputs; give at least one";
    for shape in [vec![], vec![3, 2]] {
        let operator = FromNothing(shape);
        match cpu_only().run(&operator, &none) {
            Err(ExecuteError::Invalid(error)) => {
                assert_eq!(
                    (error.kind(), error.to_string()),
                    (ErrorKind::Shape, said.to_owned())
                );
            }
            other => panic!("{other:?}"),
        }
        let manager = cpu_only();
        let decided = manager.operation("x").decide_run(&operator, &none);
        assert_eq!(decided.unwrap_err().kind(), ErrorKind::Shape);
        assert_eq!(operator.on_cpu(&none).unwrap_err().kind(), ErrorKind::Shape);
        let chain = FromNothing(operator.0).then(SumAndProduct);
        assert!(matches!(
            cpu_only().run(&chain, &none),
            Err(ExecuteError::Invalid(_))
        ));
    }
}
