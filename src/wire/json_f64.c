/*
 * A double in as few digits as read back to the same double. Numbers people write (0.97, 1.5,
 * 1731628800.0) are an integer over a power of ten, found by trying; the rest asks the C library
 * for 15, 16 and 17 digits and keeps the first that reads back.
 *
 * The result is digits d1d2d3… and an exponent, standing for d1.d2d3… × 10^exponent.
 */
#include "base/assert.h"
#include "wire/json_int.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_DIGITS = 17 };

struct digits {
    char d[MAX_DIGITS];
    int n;
    int exponent;
};

static void drop_trailing_zeros(struct digits *x)
{
    while (x->n > 1 && x->d[x->n - 1] == '0') {
        x->n--;
    }
}

/*
 * Decimals of up to 15 digits are told apart by doubles, so the one that reads back is the
 * shortest. Both m and the power are exact, so m / power is what reading the decimal gives.
 */
static bool find_decimal(double v, struct digits *x)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    for (int shift = 0; shift <= 15; shift++) {
        double m = rint(v * powers[shift]);
        if (m >= 1e15) {
            return false;
        }
        if (m / powers[shift] == v) {
            char spelled[24];
            x->n = snprintf(spelled, sizeof spelled, "%.0f", m);
            memcpy(x->d, spelled, (size_t)x->n);
            x->exponent = x->n - 1 - shift;
            drop_trailing_zeros(x);
            return true;
        }
    }
    return false;
}

static double read_back(const struct digits *x)
{
    char spelled[40];
    snprintf(spelled, sizeof spelled, "%.1s.%.*se%d", x->d, x->n - 1, x->d + 1, x->exponent);
    return strtod(spelled, NULL);
}

/* The n-digit decimal nearest to v. */
static void print_digits(double v, int n, struct digits *x)
{
    char spelled[40];
    snprintf(spelled, sizeof spelled, "%.*e", n - 1, v); /* d.ddde±xx, the point only if n > 1 */
    x->n = n;
    x->d[0] = spelled[0];
    memcpy(x->d + 1, spelled + 2, (size_t)(n - 1));
    x->exponent = (int)strtol(strchr(spelled, 'e') + 1, NULL, 10);
}

/* One more in the last place; false if that carries through all digits. */
static bool count_up(struct digits *x)
{
    int i = x->n - 1;
    while (i >= 0 && x->d[i] == '9') {
        x->d[i--] = '0';
    }
    if (i >= 0) {
        x->d[i]++;
    }
    return i >= 0;
}

static void find_shortest(double v, struct digits *x)
{
    /* Below the normal range precision thins out, down to one digit. */
    for (int n = v < DBL_MIN ? 1 : 15; n < MAX_DIGITS; n++) {
        print_digits(v, n, x);
        if (read_back(x) == v) {
            break;
        }
        /* Above a power of two doubles lie twice as far apart as below: the nearest decimal may
         * read as the neighbour below while the next one up still reads as v. */
        if (n == 16 && count_up(x) && read_back(x) == v) {
            break;
        }
        if (n == 16) {
            print_digits(v, MAX_DIGITS, x);
        }
    }
    drop_trailing_zeros(x);
}

/* 123.0, 1.23, 0.0123 */
static size_t spell_plain(const struct digits *x, char *out)
{
    size_t n = 0;
    int whole = x->exponent + 1; /* digits before the point */
    if (whole <= 0) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = whole; i < 0; i++) {
            out[n++] = '0';
        }
    }
    for (int i = 0; i < x->n || i <= whole; i++) {
        if (i == whole && whole > 0) {
            out[n++] = '.';
        }
        if (i < x->n || whole > 0) {
            out[n++] = i < x->n ? x->d[i] : '0';
        }
    }
    return n;
}

/* 1e300, 1.5e-7 */
static size_t spell_exponent(const struct digits *x, char *out)
{
    size_t n = 0;
    out[n++] = x->d[0];
    if (x->n > 1) {
        out[n++] = '.';
        memcpy(out + n, x->d + 1, (size_t)(x->n - 1));
        n += (size_t)(x->n - 1);
    }
    char spelled[8];
    int n_exponent = snprintf(spelled, sizeof spelled, "e%d", x->exponent);
    memcpy(out + n, spelled, (size_t)n_exponent);
    return n + (size_t)n_exponent;
}

size_t weir_json__format_f64(double v, char out[WEIR_JSON__F64_MAX])
{
    WEIR_ASSERT(isfinite(v));
    size_t n = 0;
    if (signbit(v)) {
        out[n++] = '-';
        v = -v;
    }
    struct digits x;
    if (!find_decimal(v, &x)) {
        find_shortest(v, &x);
    }
    bool is_plain = x.exponent >= -4 && x.exponent <= 15;
    return n + (is_plain ? spell_plain(&x, out + n) : spell_exponent(&x, out + n));
}
