"""Fast Fourier transforms."""

from .case import Table

# fmt: off
TABLE = Table()
each = TABLE.each

each("fft", "lax.fft(x, lax.FftType.FFT, (4,))", dtypes="c64 c128", x="@[3,4]")
each("fft", "lax.fft(x, 'ifft', (3, 4))", dtypes="c64 c128", x="@[2,3,4]")
each("fft", "lax.fft(x, lax.FftType.RFFT, (5,))", dtypes="f32 f64", x="@[3,5]")
each("fft", "lax.fft(x, 'RFFT', [3, 4])", x="f32[3,4]")
each("fft", "lax.fft(x, 'irfft', (6,))", dtypes="c64 c128", x="@[3,4]")
each("fft", "lax.fft(x, 'irfft', (7,))", x="c64[4]")
each("fft", "lax.fft(x, 'irfft', (3, 4))", x="c64[3,3]")
each("fft", "lax.fft(x, 'fft', (2, 3, 2))", x="c64[2,3,2]")
each("fft", "lax.fft(x, 'fft', (3,))", x="c64[0,3]")
each("fft", "lax.fft(x, 'fft', (1,))", x="c64[1]")
