build-clang/fast/cpu/portable/matmul_dot32.o: \
  fast/cpu/portable/matmul_dot32.c fast/schedule.h ref/base/case/op.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h fast/cpu/portable/dot32.h ref/base/num/convert.h \
  fast/cpu/portable/widen.h

fast/schedule.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

fast/cpu/portable/dot32.h:

ref/base/num/convert.h:

fast/cpu/portable/widen.h:
