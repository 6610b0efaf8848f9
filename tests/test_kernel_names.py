"""Names of kernels in figures: short, and each its own."""

import pytest

from scalelens.charts import words
from scalelens.charts.kernel_names import short_names

ADD = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3> "
    ">(int, at::native::CUDAFunctor_add<float>, at::detail::Array<char*, 3>)"
)
MULTIPLY = ADD.replace("CUDAFunctor_add<float>", "BUnaryFunctor<float, at::native::MulFunctor<float> >")
ANONYMOUS = "void (anonymous namespace)::softmax_warp_forward<float, float, 9, false>(float*, float const*, int)"
TILES = [f"Cijk_Ailk_Bljk_HHS_BH_MT{size}x128x32_MI32x32x8x1_SE_1LDSB0_APM1_ABV0_ACED0_AF0EM1" for size in (64, 128)]


@pytest.mark.parametrize(
    ("room", "short"),
    [
        (400, "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3>>"),
        (240, "vectorized_elementwise_kernel<4, CUDAFunctor_add<…>, Array<…>>"),
        (130, "vectorized_elementwise_kernel<…>"),
    ],
)
def test_template_arguments_are_shortened_first(room: float, short: str) -> None:
    assert short_names([ADD], [room]) == [short]


def test_what_people_do_not_look_for_is_left_out() -> None:
    assert short_names([ANONYMOUS], [400]) == ["softmax_warp_forward<float, float, 9, false>"]
    assert short_names(["Memcpy HtoD (Pinned -> Device)"], [400]) == ["Memcpy HtoD (Pinned -> Device)"]
    assert short_names(["(unnamed)"], [400]) == ["(unnamed)"]


@pytest.mark.parametrize("names", [[ADD, MULTIPLY], TILES, [ADD, MULTIPLY, ANONYMOUS, *TILES]])
@pytest.mark.parametrize("room", [60, 90, 120, 160, 300])
def test_no_two_kernels_look_alike(names: list[str], room: float) -> None:
    short = short_names(names, [room] * len(names))
    assert len(set(short)) == len(names)
    assert all(words.text_width(text) <= room for text in short)


def test_alike_names_show_what_is_their_own() -> None:
    assert short_names([ADD, MULTIPLY], [150, 150]) == [
        "vectorized…ise_kernel<CUDAFunctor add>",
        "vectorized…ise_kernel<BUnaryFunctor MulF…",
    ]
    small, large = short_names(TILES, [150, 150])
    assert "MT64x128x32" in small and "MT128x128x32" in large


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("_ZN2ck16tensor_operation6device11gemm_xdlopsINS_4tileEfEEvPKf", "gemm_xdlops<…>"),
        ("_ZN2at6native12_GLOBAL__N_14copyEPf", "copy"),
        ("_Z9my_kernelPf", "my_kernel"),
        ("_ZTV9my_kernel", "_ZTV9my_kernel"),
        ("_ZN", "_ZN"),
    ],
)
def test_names_as_the_linker_has_them(name: str, shown: str) -> None:
    assert short_names([name], [400.0]) == [shown]


def test_alike_names_of_the_linker_are_told_apart() -> None:
    names = [f"_ZN2ck6device4gemmINS_4tileILi{n}EEEEvPf" for n in (16, 32)]
    shown = short_names(names, [120.0, 120.0])
    assert len({*shown}) == 2 and all(text.startswith("gemm") for text in shown)
