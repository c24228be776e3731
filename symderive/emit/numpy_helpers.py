"""Functions that NumPy lacks, as the text that an emitted module defines them with."""

from __future__ import annotations

_SCATTER_ADD = '''
def scatter_add(into, axis, index, source):
    """Add ``source[.., i, ..]`` to ``into[.., index[.., i, ..], ..]``, i along ``axis``."""
    places = list(np.indices(index.shape, sparse=True))
    places[axis] = index
    np.add.at(into, tuple(places), source)
'''

_SOFTMAX = '''
def softmax(z, axis):
    """``exp(z) / exp(z).sum()`` along ``axis``, shifted so that nothing overflows."""
    e = np.exp(z - z.max(axis, keepdims=True, initial=-np.inf))
    return e / e.sum(axis, keepdims=True)
'''

_LOG_SOFTMAX = '''
def log_softmax(z, axis):
    """The logarithm of ``softmax``."""
    z = z - z.max(axis, keepdims=True, initial=-np.inf)
    return z - np.log(np.exp(z).sum(axis, keepdims=True))
'''

_LOGSUMEXP = '''
def logsumexp(z, axis=None, keepdims=False):
    """``log(exp(z).sum())`` over ``axis``, shifted so that nothing overflows; -inf if empty."""
    top = z.max(axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        result = np.log(np.exp(z - shift).sum(axis, keepdims=True)) + shift
    return result if keepdims else result.squeeze(axis)
'''

_GROUPED_EXTREME = '''
def grouped_extreme(find, empty, x, axis, index, count):
    """``find``, a ufunc, over the entries of x with the same index along ``axis``; ``empty`` where there are none."""
    x = np.moveaxis(x, axis, 0)
    result = np.full((count, *x.shape[1:]), empty, x.dtype)
    find.at(result, index, x)
    return np.moveaxis(result, 0, axis)
'''

_GROUPED_AMAX = '''
def grouped_amax(x, axis, index, count):
    """The largest of the entries of x with the same index along ``axis``, for each index below ``count``."""
    return grouped_extreme(np.maximum, -np.inf, x, axis, index, count)
'''

_GROUPED_AMIN = '''
def grouped_amin(x, axis, index, count):
    """The smallest of the entries of x with the same index along ``axis``, for each index below ``count``."""
    return grouped_extreme(np.minimum, np.inf, x, axis, index, count)
'''

_GROUPED_EXPONENTIALS = '''
def grouped_exponentials(x, axis, index, count):
    """``exp(x - m)``, where m is the largest entry with the same index along ``axis``, their sums by index, and m."""
    top = grouped_amax(x, axis, index, count)
    top = np.where(np.isinf(top), 0, top)
    e = np.exp(x - np.take(top, index, axis))
    total = np.zeros_like(top)
    np.add.at(np.moveaxis(total, axis, 0), index, np.moveaxis(e, axis, 0))
    return e, total, top
'''

_GROUPED_LOGSUMEXP = '''
def grouped_logsumexp(x, axis, index, count):
    """The logsumexp of the entries of x with the same index along ``axis``, for each index; -inf of none."""
    _, total, top = grouped_exponentials(x, axis, index, count)
    with np.errstate(divide="ignore"):
        return top + np.log(total)
'''

_GROUPED_SOFTMAX = '''
def grouped_softmax(x, axis, index, count):
    """The softmax of x along ``axis`` over the entries with the same index, of which there are ``count``."""
    e, total, _ = grouped_exponentials(x, axis, index, count)
    return e / np.take(total, index, axis)
'''

_LOGDET = '''
def logdet(a):
    """The logarithm of the determinant, NaN where that is negative."""
    sign, logarithm = np.linalg.slogdet(a)
    return np.where(sign < 0, np.nan, logarithm)
'''

_WINDOWS = '''
def windows(x, kernel, stride, padding, dilation):
    """The windows of a convolution: [N, C, *space] -> [N, C, *out, *kernel]."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    spans = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel))
    x = np.lib.stride_tricks.sliding_window_view(x, spans, tuple(range(2, x.ndim)))
    return x[(..., *(slice(None, None, s) for s in (*stride, *dilation)))]
'''

_COLUMNS = '''
def columns(x, kernel, stride, padding, dilation, groups):
    """The same windows, one row each, by group: [N, G, C / G, prod(out), prod(kernel)]."""
    x = windows(x, kernel, stride, padding, dilation)
    n, c, out = x.shape[0], x.shape[1], x.shape[2 : 2 + len(kernel)]
    return x.reshape(n, groups, c // groups, math.prod(out), math.prod(kernel)), out
'''

_CONV = '''
def conv(x, w, stride, padding, dilation, groups=1):
    """The convolution of x [N, C, *space] with w [O, C / G, *kernel]: [N, O, *out]."""
    rows, out = columns(x, w.shape[2:], stride, padding, dilation, groups)
    w = w.reshape(groups, w.shape[0] // groups, w.shape[1], math.prod(w.shape[2:]))
    y = np.einsum("ngchk,gock->ngoh", rows, w, optimize=True)
    return y.reshape(x.shape[0], groups * w.shape[1], *out)
'''

_CONV_TRANSPOSE = '''
def conv_transpose(y, w, space, stride, padding, dilation, groups=1):
    """The adjoint of ``conv`` in x: y [N, O, *out], w [O, C / G, *kernel] -> [N, C, *space]."""
    n, kernel = y.shape[0], w.shape[2:]
    wide = tuple(s + 2 * p for s, p in zip(space, padding))
    places = np.arange(math.prod(wide)).reshape(1, 1, *wide)
    places, out = columns(places, kernel, stride, (0,) * len(space), dilation, 1)
    y = y.reshape(n, groups, y.shape[1] // groups, math.prod(out))
    w = w.reshape(groups, w.shape[0] // groups, w.shape[1], math.prod(kernel))
    x = np.zeros((n, groups * w.shape[2], math.prod(wide)), y.dtype)
    rows = np.einsum("ngoh,gock->ngchk", y, w, optimize=True)
    np.add.at(x, (..., places[0, 0, 0]), rows.reshape(n, groups * w.shape[2], *rows.shape[3:]))
    inner = (slice(p, p + s) for s, p in zip(space, padding))
    return x.reshape(n, groups * w.shape[2], *wide)[(..., *inner)]
'''

_CONV_WEIGHT = '''
def conv_weight(x, y, kernel, stride, padding, dilation, groups=1):
    """The adjoint of ``conv`` in w: x [N, C, *space], y [N, O, *out] -> [O, C / G, *kernel]."""
    rows, out = columns(x, kernel, stride, padding, dilation, groups)
    y = y.reshape(y.shape[0], groups, y.shape[1] // groups, math.prod(out))
    w = np.einsum("ngchk,ngoh->gock", rows, y, optimize=True)
    return w.reshape(groups * w.shape[1], w.shape[2], *kernel)
'''

HELPERS: dict[str, str] = {
    "scatter_add": _SCATTER_ADD,
    "softmax": _SOFTMAX,
    "log_softmax": _LOG_SOFTMAX,
    "logsumexp": _LOGSUMEXP,
    "grouped_extreme": _GROUPED_EXTREME,
    "grouped_amax": _GROUPED_AMAX,
    "grouped_amin": _GROUPED_AMIN,
    "grouped_exponentials": _GROUPED_EXPONENTIALS,
    "grouped_logsumexp": _GROUPED_LOGSUMEXP,
    "grouped_softmax": _GROUPED_SOFTMAX,
    "logdet": _LOGDET,
    "windows": _WINDOWS,
    "columns": _COLUMNS,
    "conv": _CONV,
    "conv_transpose": _CONV_TRANSPOSE,
    "conv_weight": _CONV_WEIGHT,
}
"""Each by its name, after those that it calls."""
