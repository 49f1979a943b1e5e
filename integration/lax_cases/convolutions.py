"""Convolutions in their forms, and the functions of shapes around them."""

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each

each("conv", "lax.conv(x, k, (1, 1), 'SAME')", dtypes="f32 f64 bf16 f16 c64", x="@[1,2,5,4]",
     k="@[3,2,2,3]")
each("conv", "lax.conv(x, k, (2, 1), 'VALID')", dtypes="f32 i32", x="@[1,2,5,4]", k="@[3,2,2,3]")
each("conv", "lax.conv(x, k, (1,), 'VALID', preferred_element_type=np.float32)", dtypes="bf16",
     x="@[1,2,5]", k="@[3,2,2]")
each("conv_with_general_padding",
     "lax.conv_with_general_padding(x, k, (1, 1), ((1, 0), (-1, 2)), (2, 1), (1, 2))",
     x="f32[1,2,5,4]", k="f32[3,2,2,2]")
each("conv_with_general_padding", "lax.conv_with_general_padding(x, k, (1,), 'SAME', None, None)",
     x="f32[1,2,5]", k="f32[3,2,2]")
GENERAL = "lax.conv_general_dilated(x, k, "
each("conv_general_dilated", GENERAL + "(1, 1), 'SAME')", dtypes="f32 f64 c64 bf16", x="@[2,2,4,5]",
     k="@[3,2,3,2]")
each("conv_general_dilated", GENERAL + "(2, 1), 'VALID', "
     "dimension_numbers=('NHWC', 'HWIO', 'NHWC'))",
     x="f32[2,5,4,2]", k="f32[2,3,2,3]")
each("conv_general_dilated", GENERAL + "(1, 1), [(1, 1), (2, 0)], lhs_dilation=(2, 1), "
     "rhs_dilation=(1, 2))", x="f32[1,2,3,4]", k="f32[2,2,2,2]")
each("conv_general_dilated", GENERAL + "(1,), 'SAME', feature_group_count=2)", x="f32[2,4,5]",
     k="f32[6,2,3]")
each("conv_general_dilated", GENERAL + "(1,), 'VALID', batch_group_count=2)", x="f32[4,2,5]",
     k="f32[6,2,3]")
each("conv_general_dilated", GENERAL + "(1,), [(-1, -1)])", x="f32[1,2,6]", k="f32[3,2,2]")
each("conv_general_dilated", GENERAL + "(1,), 'SAME_LOWER')", x="f32[1,2,5]", k="f32[3,2,2]")
each("conv_general_dilated", GENERAL + "(), 'VALID')", x="f32[2,3]", k="f32[4,3]")
each("conv_general_dilated", GENERAL + "(1,), 'VALID')", x="f32[0,2,5]", k="f32[3,2,2]")
each("conv_general_dilated", GENERAL + "(1,), 'VALID', precision=lax.Precision.HIGH)",
     x="f32[1,2,5]", k="f32[3,2,2]")
each("conv_general_dilated", GENERAL + "(1, 1, 1), 'SAME')", x="f32[1,1,2,3,2]", k="f32[2,1,2,2,1]")
each("conv_transpose", "lax.conv_transpose(x, k, (2,), 'SAME')", dtypes="f32 bf16", x="@[1,4,2]",
     k="@[3,2,5]")
each("conv_transpose", "lax.conv_transpose(x, k, (2, 1), 'VALID', dimension_numbers=('NCHW', "
     "'OIHW', 'NCHW'), transpose_kernel=True)", x="f32[1,3,4,2]", k="f32[3,5,2,2]")
each("conv_transpose", "lax.conv_transpose(x, k, (1,), [(1, 2)], rhs_dilation=(2,))",
     x="f32[1,4,2]", k="f32[3,2,5]")
each("conv_transpose", "lax.conv_transpose(x, k, (2,), 'SAME', use_consistent_padding=True)",
     x="f32[1,4,2]", k="f32[3,2,5]")
each("conv_general_dilated_patches", "lax.conv_general_dilated_patches(x, (2, 3), (1, 2), 'SAME')",
     dtypes="f32 bf16", x="@[2,2,4,5]")
each("conv_general_dilated_patches", "lax.conv_general_dilated_patches(x, (2,), (1,), 'VALID', "
     "dimension_numbers=('NHC', 'HIO', 'NHC'), rhs_dilation=(2,))", x="f32[2,5,2]")
each("conv_general_dilated_local", "lax.conv_general_dilated_local(x, k, (1,), 'VALID', (2,))",
     dtypes="f32 f64", x="@[2,3,5]", k="@[4,6,4]")
each("conv_general_dilated_local", "lax.conv_general_dilated_local(x, k, (1, 1), [(0, 0), (1, 0)], "
     "(2, 2), dimension_numbers=('NHWC', 'HWIO', 'NHWC'))", x="f32[1,3,3,2]", k="f32[2,3,8,4]")

each("conv_dimension_numbers", "lax.conv_dimension_numbers((1, 2, 3, 4), (5, 2, 3, 3), None)",
     probes="eager")
each("conv_dimension_numbers", "lax.conv_dimension_numbers((1, 2, 3, 4), (5, 2, 3, 3), "
     "('NHWC', 'HWIO', 'NHWC'))", probes="eager")
each("conv_general_permutations", "lax.conv_general_permutations(('NHWC', 'HWIO', 'NCHW'))",
     probes="eager")
each("conv_shape_tuple", "lax.conv_shape_tuple((1, 2, 5, 6), (3, 2, 2, 2), (1, 2), "
     "((0, 1), (1, 1)))", probes="eager")
each("conv_shape_tuple", "lax.conv_shape_tuple((4, 2, 5), (6, 2, 2), (1,), ((0, 0),), "
     "batch_group_count=2)", probes="eager")
each("conv_general_shape_tuple", "lax.conv_general_shape_tuple((1, 5, 6, 2), (2, 2, 2, 3), (1, 2), "
     "'SAME', ('NHWC', 'HWIO', 'NHWC'))", probes="eager")
each("conv_transpose_shape_tuple", "lax.conv_transpose_shape_tuple((1, 5, 6, 2), (2, 2, 2, 3), "
     "(1, 2), 'SAME', ('NHWC', 'HWIO', 'NHWC'))", probes="eager")
each("padtype_to_pads", "lax.padtype_to_pads((5, 6), (2, 3), (1, 2), 'SAME')", probes="eager")
each("padtype_to_pads", "lax.padtype_to_pads((5, 6), (2, 3), (1, 2), 'VALID')", probes="eager")
each("padtype_to_pads", "lax.padtype_to_pads((5,), (2,), (2,), 'SAME_LOWER')", probes="eager")
