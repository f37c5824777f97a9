"""Fourier transforms, as people use them: spectra, filters, convolutions, equations solved by them."""

import numpy as np
import scipy.fft


def transforms(x, xf, xi):
    """Real numbers of each kind, with the lengths and factors NumPy knows."""
    n = len(x)
    spectrum = np.fft.rfft(x)
    return (
        np.fft.fft(x), np.fft.ifft(x, n + 3), spectrum, np.fft.rfft(xf), np.fft.rfft(xi, 4, norm="ortho"),
        np.fft.fft(xf, norm="forward"), np.fft.irfft(spectrum * 2.0, 2 * n), scipy.fft.ifft(spectrum, norm="ortho"),
    )  # fmt: skip


def too_short(x):
    """What has no point raises, as does the inverse of one number's spectrum."""
    return np.fft.irfft(np.fft.rfft(x))


def several_axes(q, r):
    """Along any axes, of arrays in any order."""
    return (
        np.fft.fft2(q), np.fft.rfft2(q.T), np.fft.irfft2(np.fft.rfft2(q), q.shape), np.fft.fft(r, axis=1),
        np.fft.fftn(r, axes=(2, 0)), np.fft.ifftn(q, (3, -1), axes=(0, 1)), scipy.fft.rfftn(r[:, ::2]),
        np.fft.fft(q[::-1], 4, 0), np.fft.ifft2(q + 1j), np.fft.irfftn(q, (4, 6), axes=(1, 0)),
    )  # fmt: skip


def mirrored(x, xc):
    """Numbers of which the second half mirrors the first."""
    return np.fft.hfft(xc, 6), np.fft.ihfft(x), scipy.fft.hfft(x, 5, norm="ortho"), np.fft.ihfft(x, norm="forward")


def frequencies(x, h):
    n = len(x)
    return np.fft.fftfreq(n, h), scipy.fft.rfftfreq(n, d=h), np.fft.fftshift(np.fft.fftfreq(n)), scipy.fft.ifftshift(x)


def power_spectrum(x, h):
    """The frequency at which a signal is strongest, and how strong each is."""
    power = np.abs(np.fft.rfft(x - np.mean(x))) ** 2 / len(x)
    return np.fft.rfftfreq(len(x), h)[np.argmax(power)], power


def spectral_derivative(x, a):
    """The derivative of a periodic function, exact for waves that fit."""
    n = len(x)
    k = np.fft.fftfreq(n, d=1.0 / n)
    if n % 2 == 0:
        k[n // 2] = 0.0
    return np.fft.ifft(1j * k * np.fft.fft(np.sin(a * x))).real


def low_pass(x, a):
    spectrum = np.fft.rfft(x)
    keep = np.exp(-((a * np.arange(len(spectrum))) ** 2))
    return np.fft.irfft(spectrum * keep, len(x))


def brick_wall(x):
    """Frequencies above a third of the highest are dropped, in place."""
    spectrum = np.fft.rfft(x)
    spectrum[len(spectrum) // 3 + 1 :] = 0.0
    return np.fft.irfft(spectrum, n=len(x))


def convolved(x, y):
    """A convolution by transforms of a length at which nothing wraps around."""
    n = len(x) + len(y) - 1
    return np.fft.irfft(np.fft.rfft(x, n) * np.fft.rfft(y, n), n)


def autocorrelation(x):
    n = len(x)
    spectrum = np.fft.fft(x - x.mean(), 2 * n)
    found = np.fft.ifft(spectrum * np.conj(spectrum)).real[:n]
    return found / max(found[0], 1e-3)


def poisson(q, h):
    """The periodic potential of a charge in two dimensions."""
    n = q.shape[0]
    k = np.fft.fftfreq(n, 10.0 * h)
    square = k[:, None] ** 2 + k[None, :] ** 2
    square[0, 0] = 1.0
    spectrum = np.fft.fft2(q) / square
    spectrum[0, 0] = 0.0
    return np.real(np.fft.ifft2(spectrum))


def blurred(m, a):
    """An image blurred along one axis after the other, by real transforms."""
    rows = np.exp(-a * np.fft.fftfreq(m.shape[0]) ** 2)
    columns = np.exp(-a * np.fft.rfftfreq(m.shape[1]) ** 2)
    return np.fft.irfft2(np.fft.rfft2(m) * rows[:, np.newaxis] * columns, s=m.shape)


def split_step(x, h, n):
    """Schrödinger's equation of an oscillator: half a kick, a drift between two transforms, half a kick."""
    k = 2.0 * np.pi * np.fft.fftfreq(len(x), 0.3)
    psi = np.exp(-((x - 0.5) ** 2)).astype(complex)
    kick = np.exp(-0.25j * h * x**2)
    drift = np.exp(-0.5j * h * k**2)
    for _ in range(n):
        psi = kick * np.fft.ifft(drift * np.fft.fft(kick * psi))
    return np.sum(x * np.abs(psi) ** 2), np.angle(psi[0] + 2.0)


def heat(u, a, n):
    """Heat flows; the nonlinear term is computed at the points, the linear one for each wave."""
    size = len(u)
    decay = np.exp(-0.1 * np.fft.rfftfreq(size) ** 2)
    for _ in range(n):
        u = np.fft.irfft(decay * np.fft.rfft(u + 0.05 * a * u * (1.0 - u)), size)
    return u


def analytic_signal(x):
    """The envelope of a signal, by leaving out the negative frequencies."""
    n = len(x)
    keep = np.zeros(n)
    keep[0] = 1.0
    keep[1 : (n + 1) // 2] = 2.0
    if n % 2 == 0 and n > 0:
        keep[n // 2] = 1.0
    return np.abs(scipy.fft.ifft(scipy.fft.fft(x) * keep))


def tones(x, a):
    """How well two waves fit a signal, without a transform: products of complex numbers."""
    t = np.arange(len(x))
    total = 0.0
    for k in range(2):
        wave = np.exp(-1j * (a + k) * t)
        z = np.sum(wave * x)
        total += z.real**2 + z.imag**2 + abs(z / (1.0 + z * np.conj(z))) + np.vdot(wave, x + 1j).real
    return total
