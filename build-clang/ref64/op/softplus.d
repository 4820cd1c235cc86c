build-clang/ref64/op/softplus.o: ref/op/softplus.c ref/base/num/coef.h \
  ref/op/op.h ref/base/case/args.h ref/base/format/matrix.h \
  ref/base/num/dtype.h ref/base/num/real.h ref/base/case/op.h

ref/base/num/coef.h:

ref/op/op.h:

ref/base/case/args.h:

ref/base/format/matrix.h:

ref/base/num/dtype.h:

ref/base/num/real.h:

ref/base/case/op.h:
