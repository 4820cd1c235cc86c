build-clang/fast/cpu/portable/residual_add.o: \
  fast/cpu/portable/residual_add.c fast/schedule.h ref/base/case/op.h \
  ref/base/case/args.h ref/base/format/matrix.h ref/base/num/dtype.h \
  ref/base/num/real.h

fast/schedule.h:

ref/base/case/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:
