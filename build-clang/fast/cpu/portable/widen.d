build-clang/fast/cpu/portable/widen.o: fast/cpu/portable/widen.c \
  fast/cpu/portable/widen.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/convert.h ref/base/num/real.h

fast/cpu/portable/widen.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/convert.h:

ref/base/num/real.h:
