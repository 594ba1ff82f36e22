package io.github.sotto;

/** An enumeration whose values are those of sotto.h. */
interface Constant {
    int value();

    /** The constant with a value; null for one that a newer library has added. */
    static <T extends Constant> T find(T[] constants, int value) {
        for (T constant : constants) {
            if (constant.value() == value) {
                return constant;
            }
        }
        return null;
    }
}
