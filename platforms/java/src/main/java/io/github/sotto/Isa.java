package io.github.sotto;

/** Instruction sets; all give the same bits. */
public enum Isa implements Constant {
    AUTO(0),
    REFERENCE(1),
    AVX2(2),
    AVX512(3),
    AVX512VNNI(4),
    NEON(5),
    NEON_DOTPROD(6),
    NEON_I8MM(7),
    AVX512AMX(8);

    private final int value;

    Isa(int value) {
        this.value = value;
    }

    @Override
    public int value() {
        return value;
    }

    static Isa of(int value) {
        return Constant.find(values(), value);
    }
}
